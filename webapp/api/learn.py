"""The JSON API of the exhibits. Knows nothing of how they are drawn."""

from __future__ import annotations

import time
from functools import cache

import msgspec
import redis
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from inference.eventlog.keys import experiment_key, simulation_key
from inference.protocol.codec import encode_request
from inference.protocol.experiments import Experiment, ExperimentRequest
from inference.protocol.simulation import SimulationRequest
from inference.safety.minilm import bundled_minilm
from webapp.api.rehearsal import Rehearsal, rehearsed
from webapp.api.view import api
from webapp.billing.bill import prices_in_force
from webapp.context.assemble import ContextTooLarge
from webapp.gateway.body import checked_text, read_body
from webapp.gateway.errors import ApiError, user_id
from webapp.gateway.timing import ServerTiming
from webapp.learn.chat import ChatBody, packed
from webapp.learn.tasks import check_key
from webapp.probes.board import Board, Look, Overloaded
from webapp.requests import services

_PATIENCE_S = {"queued": 60.0, "running": 60.0}
"""Seconds per state. A simulation takes a second at most, but queues behind other users' probes."""
MAX_CHECKED_CHARS = 600
_WINDOW_S = 10
_MAX_ASKED = 40
"""New questions of one user in a window: more than moving a slider causes."""


@api("GET")
def prices(request: HttpRequest) -> HttpResponse:
    """Today's price of each kind of token; null: the model is unpriced."""
    found = prices_in_force(settings.ENVIRONMENT.model_name, timezone.now().date())
    if found is None:
        return JsonResponse({"prices": None})
    unit_prices = {kind: price.unit_price_nano for kind, price in found.prices.items()}
    body = {"currency": found.currency, "version": found.version, "unit_prices_nano": unit_prices}
    return JsonResponse({"prices": body})


@api("GET")
def wordpiece(request: HttpRequest) -> HttpResponse:
    """The safety classifier's tokenizer (WordPiece), built differently from the model's."""
    try:
        text = (bundled_minilm() / "tokenizer.json").read_bytes()
    except OSError:
        raise ApiError(503, "model_unavailable", "The safety classifier's files are not installed.") from None
    response = HttpResponse(text, content_type="application/json")
    response["Cache-Control"] = "private, max-age=3600"
    return response


@api("POST")
def chat(request: HttpRequest) -> HttpResponse:
    """The prompt that each turn of a chat sends to the model, packed by the real assembler."""
    body = read_body(request, ChatBody)
    try:
        prompt = services.prompt_services()
        if found := body.problem(prompt.window):
            raise ApiError(400, "invalid", found[1], found[0])
        _count(user_id(request))
        return JsonResponse({"turns": packed(body, prompt.template, prompt.tokenizer)})
    except (ContextTooLarge, ValueError) as error:
        raise ApiError(400, "invalid", f"{error}") from None


@api("POST")
def gate(request: HttpRequest) -> HttpResponse:
    """The gate's answer to a message, by the same checks in the same order; starts nothing."""
    timing = ServerTiming(request)
    body = read_body(request, Rehearsal)
    limits = rehearsed(body, timing)
    return timing.apply(JsonResponse({"limits": msgspec.to_builtins(limits)}))


class CheckBody(msgspec.Struct, forbid_unknown_fields=True):
    """A text for the safety classifier."""

    text: str


@api("POST")
def check(request: HttpRequest) -> HttpResponse:
    """200 with the text's `safety.checked` results, as a message and as an answer; 202: ask again."""
    text = checked_text(read_body(request, CheckBody).text)
    if len(text) > MAX_CHECKED_CHARS:
        message = f"The text has {len(text)} characters; this page checks at most {MAX_CHECKED_CHARS}. Shorten it."
        raise ApiError(400, "invalid", message, "text")
    payload = msgspec.json.encode({"user": user_id(request), "text": text}).decode()
    return _asked(Board(check_key(payload), "learn.check", "prepare"), payload, user_id(request))


@api("POST")
def simulate(request: HttpRequest) -> HttpResponse:
    """200 with the Simulation, or 202 with its state: ask again. The same question has the same answer."""
    body = read_body(request, SimulationRequest)
    if problem := body.problem():
        raise ApiError(400, "invalid", f"{problem}.", problem.field)
    payload = encode_request(body)
    return _asked(Board(simulation_key(payload), "inference.simulate"), payload, user_id(request))


class ExperimentBody(msgspec.Struct, forbid_unknown_fields=True):
    """The experiment to run."""

    request: ExperimentRequest


@api("POST")
def experiment(request: HttpRequest) -> HttpResponse:
    """200 with the outcome, or 202 with its state: ask again."""
    asked = read_body(request, ExperimentBody).request
    if problem := asked.problem():
        raise ApiError(400, "invalid", f"{problem}.", f"request.{problem.field}")
    payload = encode_request(Experiment(user=user_id(request), request=asked))
    return _asked(Board(experiment_key(payload), "inference.experiment"), payload, user_id(request))


def _asked(board: Board, payload: str, user: int) -> HttpResponse:
    look = board.look()
    if look is None:
        _count(user)
        try:
            board.ask(payload)
        except Overloaded:
            raise ApiError(503, "overloaded", "The queue is full. Try again in a minute.", retry_after_s=60) from None
        return JsonResponse({"state": "queued"}, status=202)
    if look.state == "done":
        return HttpResponse(look.event, content_type="application/json")
    if look.state == "failed":
        board.clear()
        raise ApiError(400 if look.code == "invalid" else 503, look.code, look.message)
    if look.waited_s > _PATIENCE_S[look.state]:
        board.clear()
        raise _given_up(look)
    return JsonResponse({"state": look.state}, status=202)


def _given_up(look: Look) -> ApiError:
    message = f"No worker answered in {look.waited_s:.0f} s. Are all of the server's processes running?"
    return ApiError(503, "no_worker", message)


def _count(user: int) -> None:
    """Count a question. Raises ApiError when this user asks more than the exhibits do."""
    key = f"sightglass:learn:{user}:{int(time.time()) // _WINDOW_S}"
    pipeline = _client().pipeline()
    pipeline.incr(key)
    pipeline.expire(key, 2 * _WINDOW_S)
    if pipeline.execute()[0] > _MAX_ASKED:
        message = f"At most {_MAX_ASKED} questions in {_WINDOW_S} s. Wait a moment and try again."
        raise ApiError(429, "too_many", message, retry_after_s=_WINDOW_S)


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.ENVIRONMENT.redis_url)
