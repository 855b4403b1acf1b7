"""The WebSocket of the live page. Knows nothing of what its messages mean."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from functools import cache
from typing import Any

import msgspec
from channels.generic.websocket import AsyncWebsocketConsumer

from webapp.lifecycle.live.feed import Feed
from webapp.lifecycle.live.operators import operator_of
from webapp.lifecycle.live.reading import read_now
from webapp.lifecycle.live.view import LiveNow
from webapp.lifecycle.stream.frames import hub, read
from webapp.lifecycle.stream.websocket import Ack
from webapp.lifecycle.stream.window import ReaderStopped, Window

logger = logging.getLogger(__name__)

_CHECK_S = 3.0
"""Longest time that a stream goes on after a sign-out or the loss of the permission."""
_RESUME = 4008
_BAD_REQUEST = 4400
_FORBIDDEN = 4403
_INTERNAL_ERROR = 1011
_GONE = "You are signed out, or may not see this page any more. Sign in again."

_decode = msgspec.json.Decoder(Ack).decode


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """WS /live: a `LiveNow` each second, for operators."""

    async def connect(self) -> None:
        self._window = Window()
        self._task: asyncio.Task[None] | None = None
        if not await self._is_allowed():
            await self.close()  # not accepted: a 403
            return
        await self.accept()
        self._task = asyncio.create_task(self._forward())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            message = _decode(text_data or "")
        except (msgspec.DecodeError, RecursionError):
            await self.close(code=_BAD_REQUEST, reason="The message must be ack.")
            return
        self._window.acknowledged(message.num_messages)

    async def _forward(self) -> None:
        try:
            async with aclosing(_feed_of(asyncio.get_running_loop()).messages()) as messages:
                await self._send_all(messages)
        except ReaderStopped:
            await self.close(code=_RESUME, reason="The client did not read fast enough.")
        except Exception:
            logger.exception("the live page's stream broke off")
            await self.close(code=_INTERNAL_ERROR, reason="The stream broke off. Connect again.")

    async def _send_all(self, messages: Any) -> None:
        """Send until the operator may no longer read. Raises ReaderStopped."""
        checked_at = time.monotonic()
        async for message in messages:
            if time.monotonic() - checked_at >= _CHECK_S:
                if not await self._is_allowed():
                    await self.close(code=_FORBIDDEN, reason=_GONE)
                    return
                checked_at = time.monotonic()
            await self._window.wait_for_room()
            self._window.sent(len(message))
            await self.send(text_data=message.decode())

    async def _is_allowed(self) -> bool:
        session_key = self.scope["session"].session_key
        return await read(lambda: operator_of(session_key)) is not None

    async def disconnect(self, _code: Any) -> None:
        if self._task is not None:
            self._task.cancel()


@cache
def _feed_of(_loop: asyncio.AbstractEventLoop) -> Feed:
    """This process's feed: there is one per event loop, and a web process has one loop."""
    return Feed(_read_now)


async def _read_now() -> LiveNow:
    num_followed = hub().num_followed
    return await read(lambda: read_now(num_followed))
