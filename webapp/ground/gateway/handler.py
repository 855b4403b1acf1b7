"""Django's ASGI handler: a view computes in a thread, or waits in the event loop. Knows nothing of the views."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from asgiref.sync import SyncToAsync, ThreadSensitiveContext, iscoroutinefunction, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

NUM_THREADS = 16
"""Requests that one web process computes at once. One that waits, and a stream that has begun, hold no thread."""


class _Threads(ThreadPoolExecutor):
    """The threads of a web process. Each piece of work begins with a sound connection to the database, or none."""

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        def run() -> Any:
            close_old_connections()
            return function(*given, **named)

        return super().submit(run)


class OneHopHandler(ASGIHandler):
    """Runs all middleware and the view in one of a few threads; the event loop still sends streamed responses.

    A view that waits is a coroutine function. Around it Django changes threads before and after every middleware, which
    costs 1 to 3 ms, and it holds no thread while it waits. For all others that would be dear: a request takes 1 ms.

    By default Django makes a new thread for every request, and each thread opens its own database connection. Here
    whatever is not asynchronous runs in the same few threads.
    """

    _middleware_chain: Any

    def __init__(self) -> None:
        self._threads = _Threads(NUM_THREADS, thread_name_prefix="web")
        self._context = ThreadSensitiveContext()
        SyncToAsync.context_to_thread_executor[self._context] = self._threads
        super().__init__()
        # These receivers would run in a thread of their own; _Threads does their work.
        for receiver in (close_old_connections, reset_queries):
            request_started.disconnect(receiver)
        request_finished.disconnect(close_old_connections)

    def load_middleware(self, is_async: bool = False) -> None:
        """Build the chain that ASGIHandler awaits, of two: one for views that wait, and one for all others."""
        others: Any = BaseHandler()
        others.load_middleware(is_async=False)
        in_thread = sync_to_async(others._middleware_chain, thread_sensitive=False, executor=self._threads)
        super().load_middleware(is_async=True)
        waiting = self._middleware_chain

        async def run(request: HttpRequest) -> HttpResponseBase:
            response: HttpResponseBase = await (waiting if _waits(request.path_info) else in_thread)(request)
            return response

        self._middleware_chain = run

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        SyncToAsync.thread_sensitive_context.set(self._context)
        await self.handle(scope, receive, send)


def _waits(path: str) -> bool:
    try:
        return iscoroutinefunction(resolve(path).func)
    except Resolver404:
        return False
