"""Takes the user's decision about a call of a tool that changes something. Knows nothing of HTTP."""

from __future__ import annotations

from collections.abc import Sequence

from inference.eventlog.clock import RequestClock
from inference.eventlog.entry import end_of
from inference.eventlog.event_log import Fenced, LogLost
from inference.protocol.events import AnyEvent, ToolApprovalAsked, ToolApproved, ToolDeclined
from webapp.lifecycle.advance import advance, next_step
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.rounds import undecided

_TRIES = 10
"""Other writers, such as the results of other calls, may append between reading and writing."""
_CARRIED_ON_S = 5.0
"""Time after which the watchdog carries the request on, where this process ends after the decision."""


class NotWaiting(Exception):
    """The call waits for no decision: there is none, it was decided otherwise, or its time is over."""


def decide(request: Request, call_id: str, approve: bool) -> None:
    """Write the decision, once, and carry the request on. The same decision again changes nothing.

    Raises NotWaiting, LogLost, RedisError, OperationalError, OSError.
    """
    if (events := _write(request, call_id, approve)) is not None and next_step(events) == "wait":
        advance(request.pk)  # otherwise calls run now, and their process finds the decision when they end


def _write(request: Request, call_id: str, approve: bool) -> list[AnyEvent] | None:
    """Append the decision; return the events before it. None: it was there already."""
    for _ in range(_TRIES):
        frames = services.event_log().read(request.pk)
        events = [event for frame in frames for event in frame.events]
        if _is_decided(events, call_id, approve):
            return None
        decision = _decision(_question(request, events, call_id), request, approve)
        services.leases().grant(request.pk, request.attempt, _CARRIED_ON_S)
        try:
            services.event_log().append(request.pk, [decision], request.attempt, end_of(frames), is_next=True)
            return events
        except Fenced:
            request.refresh_from_db(fields=["attempt", "finished_at"])
    raise LogLost(f"{request.pk} is written to without a pause")


def _is_decided(events: Sequence[AnyEvent], call_id: str, approve: bool) -> bool:
    kind = ToolApproved if approve else ToolDeclined
    return any(isinstance(event, kind) and event.call_id == call_id for event in events)


def _question(request: Request, events: Sequence[AnyEvent], call_id: str) -> ToolApprovalAsked:
    question = next((each for each in undecided(events) if each.call_id == call_id), None)
    at = RequestClock(request.accepted_unix_us).at()
    if request.is_settled or next_step(events) not in ("wait", "call") or question is None:
        raise NotWaiting
    if at >= question.at + question.timeout_us:
        raise NotWaiting
    return question


def _decision(question: ToolApprovalAsked, request: Request, approve: bool) -> AnyEvent:
    at, number, call_id = RequestClock(request.accepted_unix_us).at(), question.generation, question.call_id
    if approve:
        return ToolApproved(at=at, generation=number, call_id=call_id)
    return ToolDeclined(at=at, generation=number, call_id=call_id, by="user")
