"""The watchdog: fails open requests that no worker works on any more.

It is a thread of every lifecycle worker, not a task for each request. A waiting task dies with its worker.
"""

from __future__ import annotations

import logging
import time

from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone

from inference.eventlog.clock import unix_us
from inference.protocol.events import (
    AnyEvent,
    GenerationFinished,
    GenerationStarted,
    RequestCancelled,
    TokenProposed,
    TokenSampled,
)
from inference.protocol.failures import LOG_LOST, Failure
from webapp.lifecycle.settle import settle
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.outcome import is_started
from webapp.requests.workers import is_alive
from webapp.traces.library import retention, sharing

logger = logging.getLogger(__name__)

_UPKEEP_S = 3600.0
"""Retention rules count in days, so an hourly check is enough."""


def keep_watch() -> None:
    """Check all open requests in a loop; an exception does not end the loop."""
    # Often enough for the shorter of the two timeouts.
    pause_s = min(settings.ENVIRONMENT.queue_timeout_s, settings.ENVIRONMENT.stall_timeout_s) / 3
    next_upkeep = time.monotonic()
    while True:
        time.sleep(pause_s)
        try:
            close_old_connections()
            attend_all()
            if time.monotonic() >= next_upkeep and not keep_up():
                next_upkeep = time.monotonic() + _UPKEEP_S
        except Exception:
            logger.exception("open requests could not be looked at")


def keep_up() -> int:
    """Delete expired links, and traces older than their user's rule; return the number of traces, 0 when done."""
    now = timezone.now()
    sharing.clear_expired(now)
    if num_deleted := retention.enforce(now):
        logger.info("deleted %d traces that are older than their user keeps them", num_deleted)
    return num_deleted


def attend_all() -> None:
    """Check every open request; an exception in one does not affect the others."""
    for request in Request.objects.filter(finished_at=None).defer("input"):
        try:
            attend(request)
        except Exception:
            logger.exception("%s could not be looked at", request.pk)


def attend(request: Request) -> None:
    """Fail an unsettled request that no worker works on."""
    if failure := look(request):
        end(request, failure)


def look(request: Request) -> Failure | None:
    """The failure of an unsettled request; None while it may still end well."""
    environment = settings.ENVIRONMENT
    events = [event for frame in services.event_log().read(request.id) for event in frame.events]
    silent_s = (unix_us() - request.accepted_unix_us - (events[-1].at if events else 0)) / 1e6
    if is_started(events):
        if silent_s < environment.stall_timeout_s or _waits_for_choice(events):
            return None
        message = f"The inference worker has been silent for {silent_s:.0f} s; it was probably lost. Send it again."
        return Failure("generation", "worker_lost", message)
    if silent_s < environment.queue_timeout_s:
        return None
    if not events:
        return LOG_LOST
    message = f"No inference worker took this request within {silent_s:.0f} s. Start one, or wait, then send it again."
    return Failure("generation", "no_worker", message)


def _waits_for_choice(events: list[AnyEvent]) -> bool:
    """Step mode: True while a live worker holds a token for a person to choose; the worker has its own timeout."""
    if any(isinstance(event, GenerationFinished | RequestCancelled) for event in events):
        return False
    tokens = [event for event in events if isinstance(event, TokenProposed | TokenSampled)]
    started = next(event for event in events if isinstance(event, GenerationStarted))
    return bool(tokens) and isinstance(tokens[-1], TokenProposed) and is_alive(started.worker)


def end(request: Request, failure: Failure) -> None:
    """Settle the request as failed. Its log is fenced first, so that a late worker cannot write."""
    request.attempt += 1
    request.save(update_fields=["attempt"])
    services.event_log().fence(request.id, request.attempt)
    settle(request.pk, failure)
