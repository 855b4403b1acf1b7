"""Django's ASGI handler with a synchronous middleware chain. Knows nothing of the views."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest
from django.http.response import HttpResponseBase

NUM_THREADS = 16
"""Requests that one web process handles at once; a stream counts only until its response begins."""


class OneHopHandler(ASGIHandler):
    """Runs all middleware and the view in one of a few threads; the event loop still sends streamed responses.

    With an asynchronous chain, Django changes threads before and after every middleware. WhiteNoise, which is only
    synchronous, starts an event loop inside it. A request then takes 4 ms instead of 1 ms. By default Django also makes
    a new thread for every request, and each thread opens its own database connection.
    """

    _middleware_chain: Any

    def __init__(self) -> None:
        super().__init__()
        # These receivers would run in a thread of their own; _in_own_thread does their work in ours.
        for receiver in (close_old_connections, reset_queries):
            request_started.disconnect(receiver)
        request_finished.disconnect(close_old_connections)

    def load_middleware(self, is_async: bool = False) -> None:
        """Build the chain that ASGIHandler awaits."""
        super().load_middleware(is_async=False)
        threads = ThreadPoolExecutor(NUM_THREADS, thread_name_prefix="web")
        chain = _in_own_thread(self._middleware_chain)
        self._middleware_chain = sync_to_async(chain, thread_sensitive=False, executor=threads)


def _in_own_thread(chain: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    def run(request: HttpRequest) -> HttpResponseBase:
        close_old_connections()
        return chain(request)

    return run
