"""Stops a request for its user or for an operator. Knows nothing of HTTP and of permissions."""

from __future__ import annotations

import time
from typing import Literal

from inference.eventlog.clock import RequestClock
from inference.eventlog.entry import end_of
from inference.eventlog.event_log import Fenced, LogLost
from inference.protocol.events import TERMINAL, RequestCancelled
from inference.protocol.failures import LOG_LOST, Failure
from webapp.lifecycle.settle import STOPPED_MEANWHILE, end
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.outcome import is_computed, is_started

_STOPPED_EARLY = Failure("gateway", "cancelled", "The request was stopped before it reached the model.")


_BEGIN_S = 2.0
"""Longest wait for a request that was admitted and whose log is about to begin. Its usual time is 20 ms."""
_POLL_S = 0.02
_TRIES = 5
"""Most attempts that a stop follows: a round of calls takes two."""


By = Literal["user", "operator", "parent"]
"""parent: the request that started it as an agent has ended."""


def stop(request: Request, by: By = "user") -> bool:
    """Stop within one engine step, or at once when no worker computes it. Return False where it was ending already.

    Raises RedisError.
    """
    for _ in range(_TRIES):
        try:
            return _stop(request, by)
        except (Fenced, LogLost):
            if not _has_new_attempt(request):
                return False  # another process is ending it
    return False


def _has_new_attempt(request: Request) -> bool:
    """True where the request goes on with another attempt, which the row then has."""
    before = request.attempt
    request.refresh_from_db(fields=["attempt", "finished_at"])
    return not request.is_settled and request.attempt != before


def _stop(request: Request, by: By) -> bool:
    """Raises Fenced, LogLost, RedisError."""
    log, clock = services.event_log(), RequestClock(request.accepted_unix_us)
    frames = log.read(request.pk)
    events = [event for frame in frames for event in frame.events]
    if request.is_settled or any(isinstance(event, (RequestCancelled, *TERMINAL)) for event in events):
        return False
    log.cancel(request.pk)
    if not frames:
        end(request.pk, LOG_LOST)
        return True
    log.append(request.pk, [RequestCancelled(at=clock.at(), by=by)], request.attempt, end_of(frames))
    if not is_computed(events):
        end(request.pk, STOPPED_MEANWHILE if is_started(events) else _STOPPED_EARLY)
    return True


def stop_agents(parent_id: str) -> None:
    """Stop the open agents of a request that has ended. Raises RedisError."""
    for agent in Request.objects.filter(agent_of=parent_id, finished_at=None).defer("input"):
        stop(agent, "parent")


def stop_all(user_id: int) -> int:
    """Stop the user's open requests for an operator; return the number of those that it stopped.

    The user's sending is stopped before. Raises RedisError.
    """
    found = list(Request.objects.filter(user_id=user_id, finished_at=None).defer("input"))
    deadline = time.monotonic() + _BEGIN_S
    num = 0
    for request in found:
        # A request with a row alone is being started just now. Where its process died, the watchdog ends it.
        while not services.event_log().last_seq(request.pk) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        if services.event_log().last_seq(request.pk):
            num += stop(request, "operator")
    return num
