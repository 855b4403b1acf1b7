"""Refuses addresses with a NUL, in this one place. PostgreSQL accepts no text with a NUL, not even in a lookup."""

from __future__ import annotations

from urllib.parse import unquote

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin


class RefuseNul(MiddlewareMixin):
    def process_request(self, request: HttpRequest) -> None:
        if "\x00" in request.path or "\x00" in unquote(request.META["QUERY_STRING"]):
            raise BadRequest("the address has a NUL")
