"""The events of a call's requests as they come, merged. Knows no API's format.

A client that goes away ends its requests. Those of a background call go on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.db import Error as DatabaseError
from django.db import close_old_connections
from redis.exceptions import RedisError

from inference.eventlog.entry import BEGINNING
from inference.protocol.codec import decode_frame
from inference.protocol.events import TERMINAL, AnyEvent
from webapp.lifecycle.stop import stop
from webapp.lifecycle.stream.frames import Again, Unreadable, batches
from webapp.lifecycle.stream.hub import Overflow
from webapp.lifecycle.stream.session import Ending
from webapp.requests.models import Request
from webapp.surfaces.calls.call import Begun

logger = logging.getLogger(__name__)

SILENCE_S = 15.0
_RETRY_S = 0.5
_CANCEL_S = 0.5
_PATIENCE_S = 30.0
"""Longest time without a frame while Redis cannot be reached."""
_AHEAD = 8
"""Frames that are read ahead of a client that takes none."""
UNREAD_S = 5.0
"""Longest time for which a client takes nothing. A server's answer that was dropped unsent is never taken."""


class Lost(Exception):
    """The events cannot be read any further; the message says why."""

    def __init__(self, message: str, code: str = "worker_lost") -> None:
        super().__init__(message)
        self.code = code
        """As that of a failure."""


@dataclass(frozen=True)
class Arrived:
    """Events of one of the requests, as many as came together."""

    index: int
    events: Sequence[AnyEvent]


Source = AsyncGenerator[Arrived | None, None]
"""The events as they come. None: there was silence for a while."""


async def relay(requests: Sequence[Request], ending: Ending | None = None, is_background: bool = False) -> Source:
    """Yield the events of all requests until each has ended, and None after each SILENCE_S without any. Raises Lost.

    ending: returns once the caller's key counts no more. Stops the requests that have not ended where the generator is
    closed or cancelled, or raises, unless they run in the background.
    """
    queue: asyncio.Queue[Arrived | Lost] = asyncio.Queue(_AHEAD)
    readers = [_Reader(index, each, queue, is_background) for index, each in enumerate(requests)]
    tasks = [asyncio.create_task(reader.run()) for reader in readers]
    if ending is not None:
        tasks.append(asyncio.create_task(_watch(ending, queue)))
    is_open = set(range(len(requests)))
    try:
        while is_open:
            try:
                async with asyncio.timeout(SILENCE_S):
                    item = await queue.get()
            except TimeoutError:
                yield None
                continue
            if isinstance(item, Lost):
                raise item
            if any(isinstance(event, TERMINAL) for event in item.events):
                is_open.discard(item.index)
            yield item
    finally:
        await _end(tasks)
        if is_open and not is_background:
            await asyncio.shield(asyncio.ensure_future(_stop([requests[index] for index in sorted(is_open)])))


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel the tasks until all have ended: a library may take a cancellation for its own."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_CANCEL_S)


async def _watch(ending: Ending, queue: asyncio.Queue[Arrived | Lost]) -> None:
    await ending()
    await queue.put(Lost("The key of this call was revoked or has expired.", "revoked_key"))


async def attended(begin: Callable[[], Begun]) -> Begun:
    """Begin a call in a thread, and stop it where its client went away meanwhile. Raises what `begin` raises."""
    beginning = asyncio.ensure_future(sync_to_async(begin)())
    try:
        return await asyncio.shield(beginning)
    except asyncio.CancelledError:
        await asyncio.shield(asyncio.ensure_future(_abandon(beginning)))
        raise


async def _abandon(beginning: asyncio.Future[Begun]) -> None:
    with suppress(Exception):  # the call was refused
        begun = await beginning
        if not begun.is_repeat:
            await _stop(begun.requests)


class _Reader:
    """Reads one request's events into the queue. Goes on after the last frame where Redis was away for a while."""

    def __init__(self, index: int, request: Request, queue: asyncio.Queue[Arrived | Lost], is_background: bool) -> None:
        self._index = index
        self._may_wait = is_background
        self._request = request
        self._queue = queue
        self._after = BEGINNING
        self._read_at = time.monotonic()

    async def run(self) -> None:
        try:
            while not await self._read():
                await asyncio.sleep(_RETRY_S)
        except (Lost, Unreadable) as error:
            await self._queue.put(Lost(str(error)))
        except Exception:
            logger.exception("the events of %s cannot be read", self._request.pk)
            await self._queue.put(Lost("Something went wrong here; the server's log has the details. Try again."))

    async def _read(self) -> bool:
        """Return whether the last event came. Raises Lost, Unreadable."""
        try:
            async with aclosing(batches(self._request, self._after)) as source:
                async for batch in source:
                    if isinstance(batch, Again):
                        raise Lost("The log of this answer was lost. Send the request again.")
                    events = [event for frame in batch for event in decode_frame(frame.json).events]
                    await self._hand_over(Arrived(self._index, events))
                    self._after, self._read_at = batch[-1].mark, time.monotonic()
            return True
        except Overflow:
            return False
        except (RedisError, DatabaseError) as error:
            if time.monotonic() > self._read_at + _PATIENCE_S:
                raise Lost("The answer cannot be read, as a part of the server is away. Try again.") from error
            return False

    async def _hand_over(self, item: Arrived) -> None:
        """Stop the request where nothing takes its events. They are handed over all the same, up to its end."""
        if not self._queue.full():  # most often: no timer is needed
            self._queue.put_nowait(item)
            return
        try:
            async with asyncio.timeout(None if self._may_wait else UNREAD_S):
                await self._queue.put(item)
        except TimeoutError:
            self._may_wait = True
            await _stop([self._request])
            await self._queue.put(item)


async def _stop(requests: Sequence[Request]) -> None:
    """Stop requests that no client waits for. One that cannot be stopped now ends by itself."""

    def run() -> None:
        close_old_connections()
        for request in requests:
            try:
                stop(request)
            except RedisError as error:
                logger.warning("%s could not be stopped: %s", request.pk, error)

    await sync_to_async(run, thread_sensitive=False)()
