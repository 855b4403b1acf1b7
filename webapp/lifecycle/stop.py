"""Stops a request for its user or an operator. Knows nothing of HTTP and of permissions."""

from __future__ import annotations

from typing import Literal

from inference.eventlog.clock import RequestClock
from inference.eventlog.event_log import Fenced
from inference.protocol.events import TERMINAL, RequestCancelled
from inference.protocol.failures import Failure
from webapp.lifecycle.watch import end
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.outcome import is_started

_STOPPED_EARLY = Failure("gateway", "cancelled", "The request was stopped before it reached the model.")


def stop(request: Request, by: Literal["user", "operator"] = "user") -> bool:
    """Stop within one engine step, or at once when no worker has begun. Return False where it was ending already.

    Raises RedisError.
    """
    log, clock = services.event_log(), RequestClock(request.accepted_unix_us)
    events = [event for frame in log.read(request.pk) for event in frame.events]
    if request.is_settled or any(isinstance(event, (RequestCancelled, *TERMINAL)) for event in events):
        return False
    try:
        log.cancel(request.pk)
        log.append(request.pk, [RequestCancelled(at=clock.at(), by=by)], request.attempt)
        if not is_started(events):
            end(request, _STOPPED_EARLY)
    except Fenced:
        return False  # another process is ending it
    return True
