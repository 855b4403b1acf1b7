"""Names the request of an address in the log lines of its view. Knows nothing of requests."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin

from inference.logs.request import name_request


class NameRequest(MiddlewareMixin):
    """Middleware: the address's `request_id`, or none, is named while the view runs."""

    def process_request(self, _request: HttpRequest) -> None:
        name_request(None)

    def process_view(self, _request: HttpRequest, _view: object, _args: object, named: dict[str, Any]) -> None:
        name_request(named.get("request_id"))
