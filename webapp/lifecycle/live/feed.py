"""Reads the service once a second for all live pages of one web process. Knows nothing of connections.

A page that is slow misses moments. It never has a queue.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial

import msgspec
from redis.exceptions import RedisError

from webapp.lifecycle.live.reading import unknown_now
from webapp.lifecycle.live.view import LiveNow

logger = logging.getLogger(__name__)

_PHASE_S = 0.25
"""The workers publish at each full second; a quarter later every snapshot is there."""
_NO_REDIS = "Redis cannot be reached, so nothing is known of the workers now. The page goes on when it is back."
_NOT_READ = "The live figures cannot be read; the server's log has the details."


class Feed:
    """One message per second, made while any page reads it. Belongs to one event loop."""

    def __init__(self, read: Callable[[], Awaitable[LiveNow]]) -> None:
        """read: returns the present moment. Raises RedisError."""
        self._read = read
        self._news = asyncio.Condition()
        self._latest = b""
        self._num_readers = 0
        self._task: asyncio.Task[None] | None = None

    async def messages(self) -> AsyncGenerator[bytes, None]:
        """Yield a LiveNow as JSON at once and then each second. A slower reader gets only the newest."""
        self._num_readers += 1
        if self._task is None or self._task.done():
            self._latest = b""
            self._task = asyncio.create_task(self._run())
        seen = b""
        try:
            while True:
                async with self._news:
                    await self._news.wait_for(partial(self._is_new, seen))
                    seen = self._latest
                yield seen
        finally:
            self._num_readers -= 1

    def _is_new(self, seen: bytes) -> bool:
        return bool(self._latest) and self._latest is not seen

    async def _run(self) -> None:
        while self._num_readers:
            latest = msgspec.json.encode(await self._now())
            async with self._news:
                self._latest = latest
                self._news.notify_all()
            await asyncio.sleep(1 - (time.time() - _PHASE_S) % 1)

    async def _now(self) -> LiveNow:
        try:
            return await self._read()
        except RedisError:
            return unknown_now(_NO_REDIS)
        except Exception:
            logger.exception("the live figures cannot be read")
            return unknown_now(_NOT_READ)
