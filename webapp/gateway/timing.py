"""Server-Timing: how long each phase of answering an HTTP request took (W3C Server Timing)."""

from __future__ import annotations

import time

from django.http import HttpRequest, HttpResponse

from inference.eventlog.clock import unix_us

RECEIVED = "received_unix_us"
"""Attribute of a Django request: when the outermost middleware saw it."""


class ServerTiming:
    """Marks the ends of consecutive phases."""

    def __init__(self, request: HttpRequest) -> None:
        """From the request's arrival at the application on; finding out who asks is the first phase."""
        now_us = unix_us()
        self.received_unix_us = int(getattr(request, RECEIVED, now_us))
        self._last_ns = time.perf_counter_ns()
        self._phases = [f"auth;dur={(now_us - self.received_unix_us) / 1e3:.2f}"]

    def mark(self, name: str) -> None:
        """The phase since the last mark is over."""
        now = time.perf_counter_ns()
        self._phases.append(f"{name};dur={(now - self._last_ns) / 1e6:.2f}")
        self._last_ns = now

    def apply(self, response: HttpResponse) -> HttpResponse:
        response["Server-Timing"] = ", ".join(self._phases)
        return response
