"""Refuses addresses with a NUL, in this one place. PostgreSQL accepts no text with a NUL, not even in a lookup."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse


def refuse_nul(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        if "\x00" in request.path or "\x00" in unquote(request.META["QUERY_STRING"]):
            raise BadRequest("the address has a NUL")
        return get_response(request)

    return middleware
