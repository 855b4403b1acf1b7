"""The outermost middleware: records a request's arrival and sets security headers on every response.

Knows nothing of views.
"""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from inference.eventlog.clock import unix_us
from webapp.ground.gateway.timing import RECEIVED

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"
)
"""Inline styles are allowed because computed values place bars and lanes; scripts come only from this site."""


class SecurityHeadersMiddleware(MiddlewareMixin):
    def process_request(self, request: HttpRequest) -> None:
        setattr(request, RECEIVED, unix_us())

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Content-Security-Policy", _POLICY)
        response.headers.setdefault("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
        if request.path.startswith("/api/"):
            response.headers.setdefault("Cache-Control", "no-store")
        return response
