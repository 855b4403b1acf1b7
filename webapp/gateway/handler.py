"""Django's ASGI handler with a synchronous middleware chain. Knows nothing of what is behind it."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler


class OneHopHandler(ASGIHandler):
    """Runs all middleware and the view in one thread; streamed responses are still sent by the event loop.

    Given an asynchronous chain, Django changes threads before and after every middleware, and WhiteNoise, which is
    synchronous only, starts an event loop in the midst of it: 4 ms for each request where 1 ms will do.
    """

    _middleware_chain: Any

    def load_middleware(self, is_async: bool = False) -> None:
        """The chain that ASGIHandler awaits."""
        super().load_middleware(is_async=False)
        self._middleware_chain = sync_to_async(self._middleware_chain, thread_sensitive=True)
