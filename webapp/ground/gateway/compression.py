"""Compresses JSON answers for clients that accept a coding. Knows nothing of the answers' content.

The length of a compressed answer reveals how alike its parts are (BREACH). An attacker guesses a secret by making a
browser send requests, placing words into the answers and watching their length. So answers to another site's page
stay uncompressed. So do HTML pages, which may hold a form's token, and streams, which go out event by event.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable

import zstandard
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin

LEAST_BYTES = 1000
"""Below this size, one packet carries the answer compressed or not."""
_TYPES = {"application/json"}
_CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": lambda body: zstandard.compress(body, 5),
    "gzip": lambda body: gzip.compress(body, 5, mtime=0),
}
"""Codings in order of preference: zstd is smaller and takes a third of the time."""
_OWN = {None, "same-origin", "none"}
"""Values of Sec-Fetch-Site from our own pages, from a typed address, and from clients that are not browsers."""


class CompressionMiddleware(MiddlewareMixin):
    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if isinstance(response, HttpResponse) and _is_compressible(response):
            patch_vary_headers(response, ("Accept-Encoding", "Sec-Fetch-Site"))
            coding = _coding(request.headers.get("Accept-Encoding", ""))
            if coding and request.headers.get("Sec-Fetch-Site") in _OWN:
                _compress(response, coding)
        return response


def _is_compressible(response: HttpResponse) -> bool:
    if response.has_header("Content-Encoding") or response.get("Content-Type", "").partition(";")[0] not in _TYPES:
        return False
    return len(response.content) >= LEAST_BYTES


def _coding(accepted: str) -> str | None:
    """The best coding that the header names without refusing it (RFC 9110, section 12.5.3)."""
    named = {name.strip().lower(): _quality(more) for name, _, more in (p.partition(";") for p in accepted.split(","))}
    return next((coding for coding in _CODINGS if named.get(coding, 0) > 0), None)


def _quality(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    try:
        return float(value) if name.lower() == "q" else 1.0
    except ValueError:
        return 0.0


def _compress(response: HttpResponse, coding: str) -> None:
    body = _CODINGS[coding](response.content)
    response.content = body
    response["Content-Encoding"] = coding
    response["Content-Length"] = str(len(body))
    if etag := response.get("ETag"):
        response["ETag"] = etag if etag.startswith("W/") else f"W/{etag}"
