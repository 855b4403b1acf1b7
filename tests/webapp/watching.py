"""A watchdog whose time is set by the test."""

from __future__ import annotations

from django.conf import settings

from webapp.lifecycle.watchdog import Watch
from webapp.requests.models import Request

STALL_S = settings.ENVIRONMENT.stall_timeout_s
QUEUE_S = settings.ENVIRONMENT.queue_timeout_s


class StillClock:
    """A clock that stands still between the test's own moments."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def attend_after(silent_s: float, *requests: Request) -> None:
    """Look at the requests, or at all open ones, and again after they were silent for so long."""
    clock = StillClock()
    watch = Watch(clock)
    for clock.now in (0.0, silent_s):
        if not requests:
            watch.attend_all()
        for request in requests:
            watch.attend(request)
            request.refresh_from_db()
