"""Names the request of an address in the log lines of its view. Knows nothing of requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from inference.logs.request import name_request


class NameRequest:
    """Middleware: the address's `request_id`, or none, is named while the view runs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        name_request(None)
        return self._get_response(request)

    def process_view(self, _request: HttpRequest, _view: object, _args: object, named: dict[str, Any]) -> None:
        name_request(named.get("request_id"))
