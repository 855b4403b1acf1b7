"""Refuses calls at once while too many of their kind are under way. Knows nothing of what a call does.

A call that waits for a thread lengthens the wait of all others. A refusal needs no thread and no database.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from webapp.gateway.errors import ApiError
from webapp.gateway.handler import NUM_THREADS

MOST_UNDER_WAY = NUM_THREADS
PATIENCE_S = 0.5
"""A burst may be longer than the line: calls are refused once it has been full for so long."""
_RETRY_S = 2
_MESSAGE = f"The server has more calls than it can answer. Try again in {_RETRY_S} s."

_Receive = Callable[[], Awaitable[dict[str, Any]]]
_Send = Callable[[dict[str, Any]], Awaitable[None]]


class Line:
    """ASGI middleware: counts the POSTs to some addresses from their arrival to their answer."""

    def __init__(self, application: Any, path: re.Pattern[str], now: Callable[[], float] = time.monotonic) -> None:
        """path: the addresses. now: the clock of the patience, in seconds."""
        self._application = application
        self._path = path
        self._now = now
        self._num = 0
        self._full_since: float | None = None
        """None: since it was full last, it was half empty."""

    async def __call__(self, scope: dict[str, Any], receive: _Receive, send: _Send) -> None:
        if scope["method"] != "POST" or not self._path.fullmatch(scope["path"]):
            await self._application(scope, receive, send)
        elif self._is_too_long():
            await _send(ApiError(429, "overloaded", _MESSAGE, retry_after_s=_RETRY_S), send)
        else:
            await self._pass(scope, receive, send)

    def _is_too_long(self) -> bool:
        if self._num < MOST_UNDER_WAY:
            return False
        self._full_since = self._now() if self._full_since is None else self._full_since
        return self._now() - self._full_since >= PATIENCE_S

    async def _pass(self, scope: dict[str, Any], receive: _Receive, send: _Send) -> None:
        self._num += 1
        try:
            await self._application(scope, receive, send)
        finally:
            self._num -= 1
            if self._num < MOST_UNDER_WAY // 2:
                self._full_since = None


async def _send(error: ApiError, send: _Send) -> None:
    response = error.response()
    headers = [(name.lower().encode(), text.encode()) for name, text in response.items()]
    headers.append((b"content-length", str(len(response.content)).encode()))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
