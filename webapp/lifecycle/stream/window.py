"""Limits the bytes that a reader has not acknowledged. Knows nothing of frames or connections."""

from __future__ import annotations

import asyncio
from collections import deque

MAX_UNACKED_BYTES = 1 << 20
"""Daphne buffers without bound for a reader that stops, so sent bytes count here until they are acknowledged."""
PATIENCE_S = 5.0


class ReaderStopped(Exception):
    """Raised when a reader has sent no acknowledgement for `PATIENCE_S`."""


class Window:
    """The sent but unacknowledged messages of one connection."""

    def __init__(self) -> None:
        self._sizes: deque[int] = deque()
        self._num_bytes = 0
        self._num_acked = 0
        self._has_room = asyncio.Event()
        self._has_room.set()

    def sent(self, num_bytes: int) -> None:
        self._sizes.append(num_bytes)
        self._count(num_bytes)

    def acknowledged(self, num_messages: int) -> None:
        """Count the reader's messages as received: num_messages since the connection began."""
        while self._sizes and self._num_acked < num_messages:
            self._num_acked += 1
            self._count(-self._sizes.popleft())

    def _count(self, num_bytes: int) -> None:
        self._num_bytes += num_bytes
        if self._num_bytes > MAX_UNACKED_BYTES:
            self._has_room.clear()
        else:
            self._has_room.set()

    async def wait_for_room(self) -> None:
        """Wait until more may be sent. Raises ReaderStopped."""
        # Before Python 3.12, asyncio.wait_for may lose a cancellation: a frame would follow the end of the session.
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._has_room.wait()
        except TimeoutError:
            raise ReaderStopped from None
