"""Lets WebSockets in only from pages of this very address. Knows nothing of users.

Channels compares host names alone, and cookies do not know of ports either: a page of another program on the same
machine would be let in.
"""

from __future__ import annotations

from typing import Any

from channels.security.websocket import WebsocketDenier


class OwnOrigin:
    """ASGI middleware: the Origin's host and port must be those that were connected to."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        _, _, origin = headers.get(b"origin", b"").partition(b"://")
        is_own = bool(origin) and origin == headers.get(b"host")
        await (self._application if is_own else WebsocketDenier())(scope, receive, send)
