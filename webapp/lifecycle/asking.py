"""Asks the user about calls of tools that change something, and lets the request wait. Knows nothing of how tools run.

A request that waits has neither a worker nor a task. Its deadline among the leases is the end of its first question, or
the next look at its agents.
"""

from __future__ import annotations

from collections.abc import Sequence

from inference.eventlog.clock import RequestClock
from inference.eventlog.entry import Mark
from inference.protocol.events import AnyEvent, ToolApprovalAsked, ToolDeclined
from inference.protocol.generations import last_number
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.rounds import unasked, undecided, working

APPROVAL_S = 300
"""Time for the user's decision about a call."""
_LOOK_S = 5.0
"""Interval at which a request looks for answers of its agents. An agent that ends tells it before."""


def questions(request: Request, events: Sequence[AnyEvent]) -> list[AnyEvent]:
    """The events that ask about the calls of the last generation, once each."""
    at, number = RequestClock(request.accepted_unix_us).at(), last_number(events)
    return [
        ToolApprovalAsked(
            at=at,
            generation=number,
            call_id=each.id,
            name=each.call.name,
            arguments=each.call.arguments,
            timeout_us=APPROVAL_S * 1_000_000,
        )
        for each in unasked(events)
    ]


def wait(request: Request, events: Sequence[AnyEvent]) -> None:
    """Let the request wait for a decision or an agent. No process holds it; the deadline alone stands in the leases.

    Raises RedisError.
    """
    services.leases().grant(request.pk, request.attempt, max(0.0, _left_s(request, events)), "")


def decline_late(request: Request, events: Sequence[AnyEvent], logged: Mark) -> None:
    """Decline the calls about which no decision came in time.

    logged: the log's end. Raises Fenced, LogLost, RedisError.
    """
    at = RequestClock(request.accepted_unix_us).at()
    late = [each for each in undecided(events) if at >= each.at + each.timeout_us]
    declined = [ToolDeclined(at=at, generation=each.generation, call_id=each.call_id, by="time") for each in late]
    if declined:
        services.event_log().append(request.pk, declined, request.attempt, logged, is_next=True)


def _left_s(request: Request, events: Sequence[AnyEvent]) -> float:
    at = RequestClock(request.accepted_unix_us).at()
    left = [(each.at + each.timeout_us - at) / 1e6 for each in undecided(events)]
    return min([*left, *(_LOOK_S for _ in working(events))])
