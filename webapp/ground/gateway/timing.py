"""Server-Timing: the duration of each interval of an HTTP request (W3C Server Timing)."""

from __future__ import annotations

import time

from django.http import HttpRequest, HttpResponse

from inference.eventlog.clock import unix_us

RECEIVED = "received_unix_us"
"""Attribute of a Django request: its arrival at the outermost middleware, in Unix µs."""


class ServerTiming:
    """Marks the ends of consecutive intervals."""

    def __init__(self, request: HttpRequest) -> None:
        """Begin at the request's arrival at the application; authentication is the first interval."""
        now_us = unix_us()
        self.received_unix_us = int(getattr(request, RECEIVED, now_us))
        self._last_ns = time.perf_counter_ns()
        self._intervals = [f"auth;dur={(now_us - self.received_unix_us) / 1e3:.2f}"]

    def mark(self, name: str) -> None:
        """End the interval that began at the last mark."""
        now = time.perf_counter_ns()
        self._intervals.append(f"{name};dur={(now - self._last_ns) / 1e6:.2f}")
        self._last_ns = now

    def apply(self, response: HttpResponse) -> HttpResponse:
        response["Server-Timing"] = ", ".join(self._intervals)
        return response
