"""The watchdog of one request: no request stays open when nobody works on it any more."""

from __future__ import annotations

from django.conf import settings

from inference.eventlog.clock import unix_us
from inference.protocol.events import AnyEvent, GenerationStarted
from webapp.lifecycle import services
from webapp.lifecycle.models import Request
from webapp.lifecycle.prepare import Failure


def next_look_s() -> float:
    """When to look again: often enough to keep the shorter of the two promises."""
    return min(settings.ENVIRONMENT.queue_timeout_s, settings.ENVIRONMENT.stall_timeout_s) / 3


def look(request: Request) -> Failure | None:
    """What is wrong with an unsettled request; None while it may still end well."""
    environment = settings.ENVIRONMENT
    events = [event for frame in services.event_log().read(request.id) for event in frame.events]
    silent_s = (unix_us() - request.accepted_unix_us - (events[-1].at if events else 0)) / 1e6
    if _is_started(events):
        if silent_s < environment.stall_timeout_s:
            return None
        message = f"The inference worker has been silent for {silent_s:.0f} s; it was probably lost. Send it again."
        return Failure("generation", "worker_lost", message)
    if silent_s < environment.queue_timeout_s:
        return None
    message = f"No inference worker took this request within {silent_s:.0f} s. Start one, then send it again."
    return Failure("generation", "no_worker", message)


def _is_started(events: list[AnyEvent]) -> bool:
    return any(isinstance(event, GenerationStarted) for event in events)


def take_over(request: Request) -> None:
    """Fence the log, so that a worker that comes back late cannot write."""
    request.attempt += 1
    request.save(update_fields=["attempt"])
    services.event_log().fence(request.id, request.attempt)
