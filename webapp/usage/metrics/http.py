"""Counts this web process's HTTP requests by route, status and time. Knows nothing of their content."""

from __future__ import annotations

import time
from functools import cache

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin
from prometheus_client import CollectorRegistry, Histogram

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Those of OpenTelemetry's `http.server.request.duration`."""
OTHER = "_OTHER"
"""A method or route of no name, as OpenTelemetry calls it: a client may send any."""
_STATIC = "static"
_BEGUN = "counted_from"
"""Attribute of a Django request: when it came to this middleware, by the performance counter."""


class CountRequests(MiddlewareMixin):
    """Middleware, the outermost one. A streamed response counts until it begins."""

    def process_request(self, request: HttpRequest) -> None:
        setattr(request, _BEGUN, time.perf_counter())

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        method = request.method if request.method in _METHODS else OTHER
        labels = (method or OTHER, _route(request), str(response.status_code))
        _durations().labels(*labels).observe(time.perf_counter() - getattr(request, _BEGUN))
        return response


def register(registry: CollectorRegistry) -> None:
    """Let the registry read these figures."""
    registry.register(_durations())


def _route(request: HttpRequest) -> str:
    match = request.resolver_match
    if match is not None:
        return f"/{match.route}"
    return _STATIC if request.path.startswith("/static/") else OTHER


@cache
def _durations() -> Histogram:
    return Histogram(
        "sightglass_http_request_duration_seconds",
        "Time from a request's arrival in its thread to the beginning of its response, of this web process.",
        ("method", "route", "status"),
        buckets=_BOUNDS,
        registry=None,
    )
