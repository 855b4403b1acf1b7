"""Operations of the exhibits. Knows nothing of how they are drawn."""

from __future__ import annotations

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from inference.eventlog.keys import experiment_key, simulation_key
from inference.protocol.codec import encode_request
from inference.protocol.events import SafetyChecked
from inference.protocol.experiments import Experiment, ExperimentOutcome, ExperimentRequest
from inference.protocol.simulation import Simulation, SimulationRequest
from inference.safety.minilm import bundled_minilm
from webapp.api.lifecycle.rehearsal import Limits, Rehearsal, rehearsed
from webapp.api.requests.waiting import Waiting
from webapp.api.surfaces.learn_asking import asked, count
from webapp.ground.context.assemble import ContextTooLarge
from webapp.ground.gateway.answer import Answer
from webapp.ground.gateway.body import checked_text
from webapp.ground.gateway.errors import ApiError, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Query, Result
from webapp.ground.gateway.timing import ServerTiming
from webapp.lifecycle.probes.job import WorkerJob
from webapp.models.billing.bill import prices_in_force
from webapp.models.registry.offered import default_id
from webapp.requests import services
from webapp.surfaces.learn.chat import ChatBody, PackedChat, packed
from webapp.surfaces.learn.tasks import check_key

MAX_CHECKED_CHARS = 600


class KindPrices(Result):
    """The price of one token of each kind, in billionths of the currency's unit."""

    uncached_input: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int


class UnitPrices(Result):
    """Today's prices."""

    currency: str
    version: str
    unit_prices_nano: KindPrices


class Prices(Result):
    """Today's prices; null: the model is unpriced."""

    prices: UnitPrices | None


class PricesOf(Query):
    """One model."""

    model: str = ""
    """Empty: the default model."""


def show_prices(request: HttpRequest, query: PricesOf) -> Prices:
    """Show today's price of each kind of token of one model."""
    found = prices_in_force(query.model or default_id(), timezone.now().date())
    if found is None:
        return Prices(prices=None)
    unit_prices = KindPrices(**found.unit_nano)
    return Prices(prices=UnitPrices(currency=found.currency, version=found.version, unit_prices_nano=unit_prices))


def show_wordpiece(request: HttpRequest) -> HttpResponse:
    """The safety classifier's tokenizer (WordPiece), built differently from the model's."""
    try:
        text = (bundled_minilm() / "tokenizer.json").read_bytes()
    except OSError:
        raise ApiError(503, "model_unavailable", "The safety classifier's files are not installed.") from None
    response = HttpResponse(text, content_type="application/json")
    response["Cache-Control"] = "private, max-age=3600"
    return response


def pack_chat(request: HttpRequest, body: ChatBody) -> PackedChat:
    """Pack each turn of a chat into its prompt, by the real assembler. 12 turns of 4,000 characters at most."""
    try:
        prompt = services.prompt_services(default_id())
        if found := body.problem(prompt.window):
            raise ApiError(400, "invalid", found[1], found[0])
        count(user_id(request))
        return packed(body, prompt.template, prompt.tokenizer)
    except (ContextTooLarge, ValueError) as error:
        raise ApiError(400, "invalid", f"{error}") from None


def rehearse(request: HttpRequest, body: Rehearsal, timing: ServerTiming) -> Limits:
    """Check a message by the same checks in the same order as sending it; starts nothing."""
    return rehearsed(body, timing)


class CheckBody(Body):
    """A text for the safety classifier."""

    text: str


class TextChecks(Result):
    """The safety layers' verdicts on a text."""

    input: SafetyChecked
    """As a message."""
    output: SafetyChecked
    """As an answer."""


@answers(200, 202)
def check_text(request: HttpRequest, body: CheckBody) -> Answer[TextChecks | Waiting]:
    """Check a text of 600 characters at most for safety. 202: ask again."""
    text = checked_text(body.text)
    if len(text) > MAX_CHECKED_CHARS:
        message = f"The text has {len(text)} characters; this page checks at most {MAX_CHECKED_CHARS}. Shorten it."
        raise ApiError(400, "invalid", message, "text")
    payload = msgspec.json.encode({"user": user_id(request), "text": text}).decode()
    return asked(WorkerJob(check_key(payload), "learn.check", "prepare"), payload, user_id(request))


@answers(200, 202)
def simulate(request: HttpRequest, body: SimulationRequest) -> Answer[Simulation | Waiting]:
    """Simulate the scheduler; the same question has the same answer. 202: ask again.

    429 `too_many`; 503 `no_worker`, `overloaded`.
    """
    if problem := body.problem():
        raise ApiError(400, "invalid", f"{problem}.", problem.field)
    payload = encode_request(body)
    return asked(WorkerJob(simulation_key(payload), "inference.simulate"), payload, user_id(request))


class ExperimentBody(Body):
    """The experiment to run."""

    request: ExperimentRequest


@answers(200, 202)
def experiment(request: HttpRequest, body: ExperimentBody) -> Answer[ExperimentOutcome | Waiting]:
    """Run an exhibit's experiment on the model: its outcome. 202: ask again.

    429 `too_many`; 503 `no_weights` (the model is elsewhere, or not the default), `no_worker`, `overloaded`.
    """
    wanted = body.request
    _check_same_tokens(settings.ENVIRONMENT.model_name, default_id())
    if problem := wanted.problem():
        raise ApiError(400, "invalid", f"{problem}.", f"request.{problem.field}")
    payload = encode_request(Experiment(user=user_id(request), request=wanted))
    return asked(WorkerJob(experiment_key(payload), "inference.experiment"), payload, user_id(request))


def _check_same_tokens(computed: str, shown: str) -> None:
    """The page makes token ids with the default model, and the probe worker has the configured one. Raises ApiError."""
    if computed != shown and _version(computed) != _version(shown):
        why = f"The exhibits compute with {computed}, and {shown} has another tokenizer"
        raise ApiError(503, "no_weights", f"{why}. An operator can make {computed} the default again.")


def _version(model: str) -> str:
    return services.prompt_services(model).tokenizer.version
