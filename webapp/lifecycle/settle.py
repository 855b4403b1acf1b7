"""The settlement of a request: posts the bill, saves the trace, then ends the log.

A client that has seen the end finds all of it in the database (decision 0030). A repeated run has the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import msgspec
from django.db import transaction
from django.utils import timezone

from inference.eventlog.clock import RequestClock
from inference.eventlog.entry import end_of
from inference.eventlog.event_log import EventLog
from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    ContextCompared,
    Frame,
    RequestAccepted,
    RequestFailed,
    RequestFinished,
    Surface,
    first,
)
from inference.protocol.failures import LOG_LOST, Failure
from inference.protocol.request import SamplingParams
from webapp.lifecycle.agents import tell_agents
from webapp.lifecycle.turn_before import compare_with_turn_before
from webapp.models.billing.bill import UNPRICED, bill_event, post_bill
from webapp.models.billing.models import LedgerEntry
from webapp.requests import services
from webapp.requests.input import features_of
from webapp.requests.models import Request
from webapp.requests.outcome import Outcome, fold
from webapp.requests.signals import settled
from webapp.traces import store
from webapp.traces.file.archive import Packing
from webapp.traces.recordings.turns import note_difference
from webapp.usage.limits.budget import promise_to, release
from webapp.usage.limits.taking import correct
from webapp.usage.record import NO_COST, Cost, record_use

STOPPED_MEANWHILE = Failure("generation", "cancelled", "The request was stopped while no worker computed it.")
_NO_RESULT = Failure(
    "settle",
    "internal",
    "The inference worker returned no result. Its log has the details. Send the message again.",
)


@dataclass(frozen=True)
class _Ready:
    """The work done before the row is locked."""

    frames: list[Frame]
    """The log's frames so far; later ones are added."""
    compared: ContextCompared | None
    packing: Packing


def end(request_id: str, failure: Failure) -> None:
    """Settle the request as failed. Its settlement fences the log, so that a late worker cannot write.

    The cancel flag then ends a sequence that is silent: it appends nothing, and never meets the fence. Set before, the
    flag would let the worker end the answer as stopped by its user.
    """
    settle(request_id, failure)
    log = services.event_log()
    log.cancel(request_id)
    log.retire(request_id)  # the flag lets it live as long as an open one


def settle(request_id: str, failure: Failure | None = None, frames: list[Frame] | None = None) -> None:
    """Settle the request, from wherever an earlier run stopped. frames: its log, where the caller has read it."""
    if not Request.objects.filter(pk=request_id, finished_at=None).exists():
        return
    # Before the lock: a Redis that hangs, or a long trace to read or pack, then blocks no other writer.
    frames = services.event_log().read(request_id) if frames is None else frames
    ready = _Ready(frames, compare_with_turn_before(request_id, frames), Packing(frames))
    with transaction.atomic():  # the row lock (SQLite: the write lock) makes concurrent runs take turns
        request = Request.objects.select_for_update().filter(pk=request_id).first()
        if request is None or request.is_settled:
            return
        _settle(request, ready, failure)


def _settle(request: Request, ready: _Ready, failure: Failure | None) -> None:
    """Save the outcome; append the last events to the log once that is committed.

    The log is fenced first, so that its last events get the same numbers there as in the saved trace.
    """
    log, frames = services.event_log(), ready.frames
    request.attempt += 1
    log.fence(request.id, request.attempt)
    _catch_up(log, request.id, frames)
    outcome = fold(frames)
    entry = _post(request, outcome)
    known = end_of(frames)
    if last := _missing(request, outcome, entry, failure, ready.compared):
        frames.append(Frame(seq=known.seq + 1, events=tuple(last)))
        outcome = fold(frames)
    record(request, outcome)
    request.save()
    store.save(request, frames, ready.packing)
    if ready.compared is not None:
        context = first((event for frame in frames for event in frame.events), ContextAssembled)
        note_difference(request, ready.compared, context)
    release(request.id)
    # Last: from here on other settlements of the same hour wait for this one to commit.
    record_use(request, outcome, cost_of(entry))
    if last:
        # If the process dies before this, readers still have the saved trace, which has these events too.
        transaction.on_commit(lambda: log.append(request.id, last, request.attempt, known, is_next=True), robust=True)
    transaction.on_commit(lambda: log.retire(request.id), robust=True)
    transaction.on_commit(lambda: tell_agents(request), robust=True)
    transaction.on_commit(lambda: leave(request.id), robust=True)
    transaction.on_commit(lambda: settled.send_robust(Request, request=request), robust=True)


def leave(request_id: str) -> None:
    """Correct the rates of a settled request, then end its lease: until that is done, the watchdog repeats it.

    Pictures that no worker took away go last: they expire by themselves.
    """
    correct(request_id)
    services.leases().end(request_id)
    services.pictures().drop(request_id)


def _catch_up(log: EventLog, request_id: str, frames: list[Frame]) -> None:
    """Add what came since. In a log that lost frames meanwhile, others stand after them: those that were read count."""
    known = end_of(frames)
    since = log.entries(request_id, after=known.seq)
    if since and known.agrees_with(since[0].follows):
        frames += [entry.frame for entry in since]


def _post(request: Request, outcome: Outcome) -> LedgerEntry | None:
    """Post the bill. None: there is nothing to pay, as no generation ended well, whatever the cause.

    The log may have the bill already: its ledger entry may have been lost with an earlier run's transaction.
    """
    if not any(msgspec.structs.astuple(outcome.billable)):
        return None
    is_batch = request.batch_id is not None
    return post_bill(request.id, request.user_id, request.model, outcome.billable, is_batch, promise_to(request))


def cost_of(entry: LedgerEntry | None) -> Cost:
    if entry is None:
        return NO_COST
    is_priced = entry.price_version != UNPRICED
    total = entry.total_nano if is_priced else None
    return Cost(total, entry.saved_nano, entry.currency if is_priced else "", entry.price_version)


def _missing(
    request: Request,
    outcome: Outcome,
    entry: LedgerEntry | None,
    failure: Failure | None,
    compared: ContextCompared | None,
) -> list[AnyEvent]:
    """The events that the log still needs to be complete."""
    clock, events = RequestClock(request.accepted_unix_us), list[AnyEvent]()
    if outcome.num_events == 0:
        events.append(beginning(request))
    if compared is not None and not outcome.is_terminal:
        events.append(msgspec.structs.replace(compared, at=clock.at()))
    if entry is not None and outcome.bill is None:
        events.append(bill_event(entry, clock.at()))
    if not outcome.is_terminal:
        events.append(_terminal(outcome, failure, clock))
    return events


def beginning(request: Request) -> RequestAccepted:
    """The first event, rebuilt from the row: the log was lost with its Redis."""
    return RequestAccepted(
        at=0,
        request_id=request.id,
        surface=cast(Surface, request.surface),
        model=request.model,
        params=msgspec.convert(request.params, SamplingParams),
        features=features_of(request.input),
        accepted_unix_us=request.accepted_unix_us,
        batch_id=request.batch_id,
        agent_of=request.agent_of_id,
    )


def _terminal(outcome: Outcome, failure: Failure | None, clock: RequestClock) -> AnyEvent:
    """The last event. An answer that is complete in the log stays complete, even if the worker failed after it."""
    if outcome.finish_reason not in (None, "error"):
        return RequestFinished(at=clock.at(), finish_reason=outcome.finish_reason, usage=outcome.usage)
    failure = failure or outcome.generation_failure or (_NO_RESULT if outcome.num_events else LOG_LOST)
    return RequestFailed(at=clock.at(), stage=failure.stage, code=failure.code, message=failure.message)


def record(request: Request, outcome: Outcome) -> None:
    """Set the outcome's figures in the row, without saving it."""
    request.output_text = _storable(outcome.text)
    request.thinking = _storable_in(outcome.thinking)
    request.rounds = _storable_in(outcome.rounds)
    request.usage = msgspec.to_builtins(outcome.usage)
    request.is_cache_known = outcome.is_cache_known
    request.num_output_tokens = outcome.usage.output
    request.num_input_tokens = sum(msgspec.structs.astuple(outcome.usage)) - outcome.usage.output
    request.finish_reason = outcome.finish_reason or ""
    request.first_text_us = outcome.first_text_us
    request.first_token_us = outcome.first_token_us
    request.between_tokens_us = outcome.between_tokens_us
    request.duration_us = outcome.duration_us
    request.num_events = outcome.num_events
    request.context = None if outcome.context is None else _parts(outcome.context)
    request.safety_verdict, request.safety_layers = outcome.safety_verdict, outcome.safety_layers
    if outcome.bill is not None:
        request.cost_nano, request.currency = outcome.bill.total_nano, outcome.bill.currency
    request.status = _status(outcome)
    if outcome.failure is not None:
        request.error_stage = outcome.failure.stage
        request.error_code = outcome.failure.code
        request.error_message = _storable(outcome.failure.message)
    request.finished_at = timezone.now()


def _parts(context: ContextAssembled) -> dict[str, Any]:
    """The prompt's composition in tokens, kept in the row so that a conversation's page reads no traces."""
    kinds: dict[str, int] = {}
    for segment in context.segments:
        kinds[segment.kind] = kinds.get(segment.kind, 0) + segment.end - segment.start
    return {
        "window": context.window,
        "num_prompt_tokens": context.num_prompt_tokens,
        "kinds": kinds,
        "num_dropped": len(context.dropped),
        "num_dropped_tokens": sum(dropped.num_tokens for dropped in context.dropped),
    }


def _storable(text: str) -> str:
    """The text without NULs, which PostgreSQL does not store."""
    return text.replace("\x00", "\ufffd")


def _storable_in(value: Any) -> Any:
    """The value with each text in it storable."""
    match value:
        case str():
            return _storable(value)
        case list():
            return [_storable_in(each) for each in value]
        case dict():
            return {name: _storable_in(each) for name, each in value.items()}
    return value


def _status(outcome: Outcome) -> Any:
    """The request's final status; the page derives it from the events by the same rules (`trace/outcome.ts`)."""
    # A stop sets the worker's flag first. Its caller may die before the log tells of it.
    if outcome.finish_reason == "abort" or (outcome.is_cancelled and outcome.finish_reason is None):
        return Request.Status.STOPPED
    if outcome.failure is not None:
        return Request.Status.BLOCKED if outcome.failure.code == "blocked" else Request.Status.FAILED
    return Request.Status.WITHHELD if outcome.finish_reason == "content_filter" else Request.Status.DONE
