"""The watchdog: has open requests carried on whose next step is overdue, and ends those that nothing carries on.

It is a thread of every lifecycle worker, not a task for each request. A waiting task dies with its worker. A request
is overdue by its lease (inference/eventlog/leases.py). A log is silent while its last number stays the same by the
watchdog's own clock: no two machines' clocks are compared.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone

from inference.eventlog.event_log import Fenced
from inference.protocol.events import (
    AnyEvent,
    GenerationFinished,
    GenerationInterrupted,
    GenerationResumed,
    GenerationStarted,
    RequestCancelled,
    TokenProposed,
    TokenSampled,
)
from inference.protocol.failures import LOG_LOST, Failure
from inference.protocol.generations import latest
from webapp.content.attachments.store import clear_unsent
from webapp.identity.accounts import sign_ins
from webapp.lifecycle.advance import advance
from webapp.lifecycle.settle import end
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.queues import drop_lost_queues
from webapp.requests.rounds import undecided, working
from webapp.requests.workers import is_alive
from webapp.traces.library import retention, sharing

logger = logging.getLogger(__name__)

_LOOK_S = 0.25
"""Interval between looks at the leases: one short call to Redis."""
_PATIENCE_S = 0.6
"""Longer than a worker's interval between renewals."""
_HOLD_S = 5.0
"""Time for one watchdog to carry a request on."""
_UPKEEP_S = 3600.0
"""Retention rules count in days, so an hourly check is enough."""
_HANG_FACTOR = 10
"""A worker with a heartbeat may be busy with one step. It counts as hung after this many times the limit of a silent
one, 5 minutes by default."""


def keep_watch() -> None:
    """Watch the open requests in a loop; an exception does not end the loop."""
    # Often enough for the shorter of the two timeouts.
    pause_s = min(settings.ENVIRONMENT.queue_timeout_s, settings.ENVIRONMENT.stall_timeout_s) / 3
    next_upkeep = next_look = time.monotonic()
    watch = Watch()
    while True:
        time.sleep(_LOOK_S)
        try:
            close_old_connections()
            watch.advance_overdue()
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + pause_s
                watch.attend_all()
                drop_lost_queues()
            if time.monotonic() >= next_upkeep and not keep_up():
                next_upkeep = time.monotonic() + _UPKEEP_S
        except Exception:
            logger.exception("open requests could not be looked at")


def keep_up() -> int:
    """Delete ended sign-ins, expired links, files of no message, and traces older than their user's rule.

    Return the number of traces, 0 when done.
    """
    now = timezone.now()
    sign_ins.clear_expired(now)
    sharing.clear_expired(now)
    clear_unsent(now)
    if num_deleted := retention.enforce(now):
        logger.info("deleted %d traces that are older than their user keeps them", num_deleted)
    return num_deleted


class _Sight(NamedTuple):
    """A figure of a request, such as its log's last seq, and the moment since which it is the same."""

    value: float
    since: float

    @classmethod
    def of(cls, value: float, before: _Sight | None, now: float) -> _Sight:
        """before: the last sight of the same figure."""
        return before if before is not None and before.value == value else cls(value, now)


class Watch:
    """One watchdog's sight of the open requests; one thread at a time may use it."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """now: the clock by which silence is measured, in seconds."""
        self._now = now
        self._sights: dict[str, _Sight] = {}
        self._overdue: dict[str, _Sight] = {}

    def advance_overdue(self) -> None:
        """Carry on the requests whose deadline was seen to be over for longer than a renewal takes to come.

        Redis or the machine may have stood still, and renewals come after it. One of several watchdogs takes a request.
        """
        now, before = self._now(), self._overdue
        self._overdue = {
            pk: _Sight.of(deadline, before.get(pk), now) for pk, deadline in services.leases().overdue().items()
        }
        certain = [(pk, sight.value) for pk, sight in self._overdue.items() if now - sight.since >= _PATIENCE_S]
        for request_id, deadline in certain:
            try:
                if services.leases().take(request_id, deadline, _HOLD_S):
                    advance(request_id)
            except Exception:
                logger.exception("%s could not be carried on", request_id)

    def attend_all(self) -> None:
        """Check every open request; an exception in one does not affect the others."""
        requests = list(Request.objects.filter(finished_at=None).defer("input"))
        open_ids = {request.pk for request in requests}
        self._sights = {pk: sight for pk, sight in self._sights.items() if pk in open_ids}
        without_lease = set(services.leases().missing(sorted(open_ids)))
        for request in requests:
            try:
                self.attend(request)
                if request.pk in without_lease:  # Redis lost it, or the process that began the request died
                    _put_back(request)
            except Exception:
                logger.exception("%s could not be looked at", request.pk)

    def attend(self, request: Request) -> None:
        """Fail an unsettled request that nothing carries on."""
        silent_s = self._silent_s(request.pk, services.event_log().last_seq(request.pk))
        if silent_s < min(settings.ENVIRONMENT.queue_timeout_s, settings.ENVIRONMENT.stall_timeout_s):
            return
        events = [event for frame in services.event_log().read(request.pk) for event in frame.events]
        if failure := _look(latest(events), silent_s):
            end(request.pk, failure)

    def _silent_s(self, request_id: str, seq: int) -> float:
        """The time since the log's last event was first seen."""
        now = self._now()
        sight = self._sights[request_id] = _Sight.of(seq, self._sights.get(request_id), now)
        return now - sight.since


def _put_back(request: Request) -> None:
    """Put back the fence, then a lease that is over: the next look at the leases carries the request on."""
    with suppress(Fenced):  # a settlement fenced it, which may have died before it saved the row
        services.event_log().fence(request.pk, request.attempt)
    services.leases().grant(request.pk, request.attempt, 0)


def _look(events: list[AnyEvent], silent_s: float) -> Failure | None:
    """The failure of an unsettled request; None while it may still end well. events: those of its last generation."""
    environment = settings.ENVIRONMENT
    if undecided(events) or working(events):  # each has a time limit of its own
        return None
    if any(isinstance(event, GenerationFinished) for event in events):
        return None if silent_s < environment.queue_timeout_s else _not_called(silent_s)
    bounds = (GenerationStarted, GenerationResumed, GenerationInterrupted)
    last = next((event for event in reversed(events) if isinstance(event, bounds)), None)
    if isinstance(last, GenerationStarted | GenerationResumed):
        if silent_s < environment.stall_timeout_s or _waits_for_choice(events):
            return None
        if _is_worker_alive(events) and silent_s < _HANG_FACTOR * environment.stall_timeout_s:
            return None
        message = f"The inference worker has been silent for {silent_s:.0f} s; it was probably lost. Send it again."
        return Failure("generation", "worker_lost", message)
    if silent_s < environment.queue_timeout_s:
        return None
    if not events:
        return LOG_LOST
    if last is not None:
        message = f"The inference worker was lost, and no other took over within {silent_s:.0f} s. Send it again."
        return Failure("generation", "worker_lost", message)
    message = f"No inference worker took this request within {silent_s:.0f} s. Start one, or wait, then send it again."
    return Failure("generation", "no_worker", message)


def _not_called(silent_s: float) -> Failure:
    """The failure of a request whose last generation is over, and which no lifecycle worker carries on."""
    message = f"No process ran the answer's tools, or went on with it, within {silent_s:.0f} s. Send it again."
    return Failure("generation", "no_worker", message)


def _waits_for_choice(events: list[AnyEvent]) -> bool:
    """Step mode: True while a live worker holds a token for a person to choose; the worker has its own timeout."""
    if any(isinstance(event, GenerationFinished | RequestCancelled) for event in events):
        return False
    tokens = [event for event in events if isinstance(event, TokenProposed | TokenSampled)]
    return bool(tokens) and isinstance(tokens[-1], TokenProposed) and _is_worker_alive(events)


def _is_worker_alive(events: list[AnyEvent]) -> bool:
    """True while the worker of an unfinished generation has a heartbeat, which goes on while its engine computes."""
    bounds = (GenerationStarted, GenerationResumed, GenerationFinished, RequestCancelled)
    last = [event for event in events if isinstance(event, bounds)][-1]
    if not isinstance(last, GenerationStarted | GenerationResumed):
        return False
    return last.worker is not None and is_alive(last.worker)
