"""Accepts WebSockets only from pages of this site's own address. Knows nothing of users.

Channels compares host names alone, and cookies ignore ports too. It would accept a page of another program on the same
machine.
"""

from __future__ import annotations

from typing import Any

from channels.security.websocket import WebsocketDenier


class OwnOrigin:
    """ASGI middleware: the Origin must be the site's public one, or have the host and port of the connection.

    public_url: scheme and host; None: no proxy is in front.
    """

    def __init__(self, application: Any, public_url: str | None) -> None:
        self._application = application
        self._public_origin = public_url.encode() if public_url else None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        application = self._application if self._is_own(dict(scope["headers"])) else WebsocketDenier()
        await application(scope, receive, send)

    def _is_own(self, headers: dict[bytes, bytes]) -> bool:
        origin = headers.get(b"origin", b"")
        if self._public_origin is not None:
            return origin == self._public_origin
        host = origin.partition(b"://")[2]
        return bool(host) and host == headers.get(b"host")
