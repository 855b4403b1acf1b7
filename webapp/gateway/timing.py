"""Server-Timing: how long each phase of answering an HTTP request took (W3C Server Timing)."""

from __future__ import annotations

import time

from django.http import HttpResponse

from inference.eventlog.clock import unix_us


class ServerTiming:
    """Marks the ends of consecutive phases."""

    def __init__(self) -> None:
        self.received_unix_us = unix_us()
        self._last_ns = time.perf_counter_ns()
        self._phases: list[str] = []

    def mark(self, name: str) -> None:
        """The phase since the last mark is over."""
        now = time.perf_counter_ns()
        self._phases.append(f"{name};dur={(now - self._last_ns) / 1e6:.2f}")
        self._last_ns = now

    def apply(self, response: HttpResponse) -> HttpResponse:
        response["Server-Timing"] = ", ".join(self._phases)
        return response
