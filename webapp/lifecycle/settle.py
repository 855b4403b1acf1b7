"""The last part of a request's story: post the bill, end the log, save the trace. May run twice: the result is one."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone

from inference.eventlog.clock import RequestClock
from inference.protocol.events import AnyEvent, RequestFailed, RequestFinished
from webapp.billing.bill import post_bill
from webapp.lifecycle import services
from webapp.lifecycle.models import Request
from webapp.lifecycle.outcome import Outcome, fold
from webapp.traces import store

logger = logging.getLogger(__name__)


def settle(request_id: str, failure: dict[str, str] | None = None) -> None:
    """Converges from wherever an earlier run stopped."""
    with transaction.atomic():  # the row lock (SQLite: the write lock) makes concurrent runs take turns
        request = Request.objects.select_for_update().filter(pk=request_id).first()
        if request is None or request.is_settled:
            return
        _settle(request, failure)


def _settle(request: Request, failure: dict[str, str] | None) -> None:
    log, clock = services.event_log(), RequestClock(request.accepted_unix_us)

    def append(event: AnyEvent) -> None:
        log.append(request.id, [event], request.attempt)

    outcome = fold(log.read(request.id))
    if outcome.bill is None and any(msgspec.structs.astuple(outcome.usage)):
        append(post_bill(request.id, request.user_id, request.model, outcome.usage, clock.at()))
    if not outcome.is_terminal:
        append(_terminal(outcome, failure, clock))
    frames = log.read(request.id)
    record(request, fold(frames))
    store.save(request, frames)


def _terminal(outcome: Outcome, failure: dict[str, str] | None, clock: RequestClock) -> AnyEvent:
    if failure is None and outcome.finish_reason is None:
        failure = {"stage": "settle", "code": "internal", "message": "The generation left no result in the log."}
    if failure is not None:
        return RequestFailed(at=clock.at(), **failure)
    assert outcome.finish_reason is not None
    return RequestFinished(at=clock.at(), finish_reason=outcome.finish_reason, usage=outcome.usage)


def record(request: Request, outcome: Outcome) -> None:
    """Write what the log adds up to into the row."""
    request.output_text = outcome.text
    request.usage = msgspec.to_builtins(outcome.usage)
    request.finish_reason = outcome.finish_reason or ""
    request.first_token_us = outcome.first_token_us
    request.duration_us = outcome.duration_us
    request.num_events = outcome.num_events
    if outcome.bill is not None:
        request.cost_nano, request.currency = outcome.bill.total_nano, outcome.bill.currency
    request.status = _status(outcome)
    if outcome.failure is not None:
        request.error_stage = outcome.failure.stage
        request.error_code = outcome.failure.code
        request.error_message = outcome.failure.message
    request.finished_at = timezone.now()
    request.save()


def _status(outcome: Outcome) -> Any:
    if outcome.is_cancelled and outcome.finish_reason in (None, "abort"):
        return Request.Status.STOPPED
    return Request.Status.FAILED if outcome.failure else Request.Status.DONE
