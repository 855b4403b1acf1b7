"""Carries checks of models on: from waiting for a worker to the end of the test generation.

All state is in the rows: any process may look at a check, at any time and after any crash.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone
from redis.exceptions import RedisError

from inference.eventlog.clock import unix_us
from inference.protocol.failures import SERVICE_STOPPED
from inference.protocol.request import SamplingParams
from inference.tokenization.gguf_metadata import TokenizerError
from inference.tokenization.template_process import TemplateError
from webapp.ground.context.assemble import SourceMessage
from webapp.lifecycle.admission import Limits, TooManyOpen, admit
from webapp.lifecycle.start import Arrival, QueueUnavailable, start, take_back
from webapp.models.registry.models import RegisteredModel
from webapp.requests import services
from webapp.requests.input import MessagesInput
from webapp.requests.models import Request
from webapp.surfaces.checks.workers import Workers, workers_of
from webapp.usage.limits.charge import Charge, charges_of
from webapp.usage.limits.refusal import Refused
from webapp.usage.limits.taking import take_rates

logger = logging.getLogger(__name__)

SURFACE = "check"
QUESTION = "Say hello."
PARAMS = SamplingParams(temperature=0.0, max_tokens=16)
APPEAR_TIME = timedelta(minutes=5)
"""Time for a worker to appear. Beside containers, an operator starts it by hand."""
LOAD_TIME = timedelta(minutes=30)
"""Time for a worker to load the model. A first start also converts its weights."""
State, Status = RegisteredModel.State, Request.Status


def advance_all() -> None:
    """Carry on every check; an exception in one does not affect the next."""
    for model in list(RegisteredModel.objects.filter(state=State.CHECKING).values_list("pk", flat=True)):
        try:
            advance(model)
        except Exception:
            logger.exception("the check of %s could not be looked at", model)


def advance(model: str) -> None:
    """Carry on one check. Raises RedisError."""
    row = RegisteredModel.objects.filter(pk=model, state=State.CHECKING).first()
    if row is None:
        return
    if not row.check_request_id:
        _begin_or_wait(row)
    elif (request := Request.objects.filter(pk=row.check_request_id).first()) is None:
        _fail(row, "The request of the check was deleted. Check the model again.")
    elif request.is_settled:
        conclude(request)


def on_settled(request: Request, **_: Any) -> None:
    """Receiver of `settled`."""
    if request.surface == SURFACE:
        conclude(request)


@transaction.atomic
def conclude(request: Request) -> None:
    """Enable or fail the model whose check this settled request was.

    The end of the product does not fail it: the next start lets the check begin again.
    """
    rows = RegisteredModel.objects.select_for_update()
    row = rows.filter(state=State.CHECKING, check_request_id=request.pk).first()
    if row is None or request.error_code == SERVICE_STOPPED.code:
        return
    row.checked_at, row.text = timezone.now(), request.output_text
    row.first_token_ms = None if request.first_token_us is None else request.first_token_us / 1000
    between_us = (request.between_tokens_us or {}).get("mean")
    row.tokens_per_s = 1e6 / between_us if between_us else None
    row.message = _reason(request)
    row.state = State.FAILED if row.message else State.ENABLED
    row.save()


def _reason(request: Request) -> str:
    """Why the request does not show that the model works; empty: it does."""
    match request.status:
        case Status.DONE:
            return "" if request.num_output_tokens else "The model ended its answer before its first token."
        case Status.STOPPED:
            return "The test generation was stopped. Check the model again."
        case Status.WITHHELD:
            return "The safety policy withheld the test answer. Open its trace to see why."
    return request.error_message or "The test generation failed. Open its trace to see why."


def _begin_or_wait(row: RegisteredModel) -> None:
    try:
        version = services.prompt_services(row.pk).tokenizer.version
    except (TokenizerError, TemplateError) as error:
        _fail(row, f"The model's files cannot be used: {error}.")
        return
    found = workers_of(row.pk, version)
    if found.is_ready:
        _begin(row)
    elif found.failure:
        _fail(row, found.failure)
    elif problem := _overdue(row, found):
        _fail(row, problem)


def _overdue(row: RegisteredModel, found: Workers) -> str | None:
    assert row.check_begun_at is not None
    waited = timezone.now() - row.check_begun_at
    if waited < (LOAD_TIME if found.is_loading else APPEAR_TIME):
        return None
    minutes = waited.seconds // 60
    if found.is_loading:
        return f"The worker has not loaded the model within {minutes} minutes. Its log has the details."
    if found.has_other_tokenizer:
        return "The model's worker has loaded another tokenizer than this path has. Start it with the same file."
    return f"No worker of this model was ready within {minutes} minutes. Start one, then check the model again."


def _begin(row: RegisteredModel) -> None:
    """Send the test generation, once, as the operator who asked for it."""
    try:
        request, charge, limits = _saved_request(row.pk)
    except TooManyOpen:
        return  # the next look tries again
    except (Refused, _NoChecker) as error:
        _fail(row, f"{error} Check the model again.")
        return
    except RegisteredModel.DoesNotExist:
        return  # another process has begun it
    arrival = Arrival(received_unix_us=request.accepted_unix_us, surface=SURFACE)
    try:
        (rates,) = take_rates([request], [charge])
        start(request, PARAMS, arrival, (*limits, *rates))
    except (QueueUnavailable, Refused, RedisError) as error:
        logger.warning("the check of %s waits on: %s", row.pk, error)
        RegisteredModel.objects.filter(pk=row.pk, check_request_id=request.pk).update(check_request_id="")
        take_back(request)


class _NoChecker(Exception):
    """The operator's account is gone."""


@transaction.atomic
def _saved_request(model: str) -> tuple[Request, Charge, Limits]:
    """Raises Refused, _NoChecker, DoesNotExist."""
    row = RegisteredModel.objects.select_for_update().get(pk=model, state=State.CHECKING, check_request_id="")
    if row.checker_id is None:
        raise _NoChecker("The account of the operator who asked for the check is gone.")
    request = Request(
        user_id=row.checker_id,
        surface=SURFACE,
        model=model,
        title=f"Check of {model}"[:200],
        input=MessagesInput((SourceMessage("user", QUESTION, "check", "user"),)),
        params=msgspec.to_builtins(PARAMS),
        accepted_unix_us=unix_us(),
    )
    (charge,) = charges_of([request], [PARAMS])
    (limits,) = admit([request], [charge], is_stepped=False)
    request.save(force_insert=True)
    row.check_request_id = request.pk
    row.save()
    return request, charge, limits


@transaction.atomic
def _fail(row: RegisteredModel, message: str) -> None:
    """Fail the check, unless it was begun anew meanwhile."""
    rows = RegisteredModel.objects.select_for_update()
    found = rows.filter(pk=row.pk, state=State.CHECKING, check_begun_at=row.check_begun_at).first()
    if found is not None:
        found.state, found.message, found.checked_at = State.FAILED, message, timezone.now()
        found.save()
