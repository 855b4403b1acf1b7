"""The watchdog: no request stays open when nobody works on it any more.

A thread of every lifecycle worker, not a task for each request: a task that waits for its time dies with its worker.
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
from webapp.lifecycle.settle import settle
from webapp.requests import services
from webapp.requests.failure import Failure
from webapp.requests.models import Request
from webapp.requests.outcome import is_started
from webapp.requests.workers import is_alive
from webapp.traces.library import retention, sharing

logger = logging.getLogger(__name__)

_UPKEEP_S = 3600.0
"""Rules count in days."""


def keep_watch() -> None:
    """Look at all open requests again and again; trouble of its own does not end the watch."""
    # Often enough to keep the shorter of the two promises.
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
    """Delete what is older than its user's rule or has expired; 0: nothing is left to do."""
    now = timezone.now()
    sharing.clear_expired(now)
    if num_deleted := retention.enforce(now):
        logger.info("deleted %d traces that are older than their user keeps them", num_deleted)
    return num_deleted


def attend_all() -> None:
    """Trouble with one request is no trouble for the others."""
    for request in Request.objects.filter(finished_at=None).defer("input"):
        try:
            attend(request)
        except Exception:
            logger.exception("%s could not be looked at", request.pk)


def attend(request: Request) -> None:
    """Fail an unsettled request on which nobody works."""
    if failure := look(request):
        end(request, failure.as_json())


def look(request: Request) -> Failure | None:
    """What is wrong with an unsettled request; None while it may still end well."""
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
    message = f"No inference worker took this request within {silent_s:.0f} s. Start one, or wait, then send it again."
    return Failure("generation", "no_worker", message)


def _waits_for_choice(events: list[AnyEvent]) -> bool:
    """Step mode: its worker lives and holds a token that a person is to choose; the worker itself gives up in time."""
    if any(isinstance(event, GenerationFinished | RequestCancelled) for event in events):
        return False
    tokens = [event for event in events if isinstance(event, TokenProposed | TokenSampled)]
    started = next(event for event in events if isinstance(event, GenerationStarted))
    return bool(tokens) and isinstance(tokens[-1], TokenProposed) and is_alive(started.worker)


def end(request: Request, failure: dict[str, str]) -> None:
    """Settle it as failed; its log is fenced first, so that a worker that comes back late cannot write."""
    request.attempt += 1
    request.save(update_fields=["attempt"])
    services.event_log().fence(request.id, request.attempt)
    settle(request.pk, failure)
