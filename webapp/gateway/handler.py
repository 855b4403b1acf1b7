"""Django's ASGI handler with a synchronous middleware chain. Knows nothing of what is behind it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from webapp.gateway.errors import ApiError

NUM_THREADS = 16
"""Requests that one web process works on at once; streams count only until they begin to flow."""


class OneHopHandler(ASGIHandler):
    """Runs all middleware and the view in one of a few threads; streamed responses are still sent by the event loop.

    Given an asynchronous chain, Django changes threads before and after every middleware, and WhiteNoise, which is
    synchronous only, starts an event loop in the midst of it: 4 ms for each request where 1 ms will do. Left to itself
    it also makes a new thread for every request, which has to open a database connection of its own.
    """

    _middleware_chain: Any

    def __init__(self) -> None:
        super().__init__()
        # They would run in a thread made for them; ours are looked after by _in_own_thread.
        for receiver in (close_old_connections, reset_queries):
            request_started.disconnect(receiver)
        request_finished.disconnect(close_old_connections)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Refuses what is too large by its announced length, before Django copies it."""
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            message = f"More than {settings.DATA_UPLOAD_MAX_MEMORY_SIZE >> 20} MiB cannot be sent here."
            await self.send_response(ApiError(413, "too_large", message).response(), send)
        else:
            await super().__call__(scope, receive, send)

    def load_middleware(self, is_async: bool = False) -> None:
        """The chain that ASGIHandler awaits."""
        super().load_middleware(is_async=False)
        threads = ThreadPoolExecutor(NUM_THREADS, thread_name_prefix="web")
        chain = _in_own_thread(self._middleware_chain)
        self._middleware_chain = sync_to_async(chain, thread_sensitive=False, executor=threads)


def _in_own_thread(chain: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    def run(request: HttpRequest) -> HttpResponseBase:
        close_old_connections()
        return chain(request)

    return run
