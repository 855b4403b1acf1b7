"""One reader of the event logs per web process, fanned out to its connections. Knows nothing of HTTP or WebSockets.

A connection that does not keep up loses its place in the hub, never its data. It resumes after the last frame that it
received.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

from redis.exceptions import RedisError

from inference.eventlog.async_connections import connect_async
from inference.eventlog.entry import BEGINNING, Entry, Mark
from inference.eventlog.keys import PREFIX, log_key, parse_entry

MAX_QUEUED_BYTES = 1 << 20
"""Limit of one connection's queue in this process."""
SILENCE_S = 5.0
"""Silence after which the log itself is checked: it may have expired, or been lost with its Redis."""
_BLOCK_MS = 5_000
_TIMEOUT_S = 9.0
"""Longest wait for a reply, which an idle read gets after _BLOCK_MS."""
_PAGE_ENTRIES = 32
_GATHER_S, _MOST_GATHER_S = 0.0005, 0.02
"""Time between two reads for each log that had news, and the most: a read costs the same for one frame as for many.
A page that follows one log waits for its frame half a millisecond at most."""
_MAX_CONNECTIONS = 32
_RETRY_S = 0.5


class Overflow(Exception):
    """The connection does not keep up."""


class BeginAgain(Exception):
    """The log has no longer what the reader has read: it was lost, and other events were written in its place."""


class Subscriber:
    """One connection's queue."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._num_bytes = 0
        """Of the entries that wait, and of those that the connection was given last."""
        self._num_given = 0
        self._has_news = asyncio.Event()
        self._is_overflown = False

    def put(self, entry: Entry) -> None:
        self._num_bytes += len(entry.events)
        if self._num_bytes > MAX_QUEUED_BYTES:
            self._is_overflown = True
            self._entries = []
        else:
            self._entries.append(entry)
        self._has_news.set()

    async def get(self) -> list[Entry]:
        """Return all entries that have come, at least one; none after SILENCE_S. Raises Overflow."""
        self._num_bytes -= self._num_given
        self._num_given = 0
        while not self._entries:
            if self._is_overflown:
                raise Overflow
            self._has_news.clear()
            try:
                async with asyncio.timeout(SILENCE_S):  # wait_for would make a task for every frame
                    await self._has_news.wait()
            except TimeoutError:
                return []
        given, self._entries = self._entries, []
        self._num_given = self._num_bytes
        return given


class Hub:
    """Watches the logs that have subscribers with one blocking read."""

    def __init__(self, redis_url: str) -> None:
        # redis-py's types describe the replies of every protocol version at once, which no reader of one can use.
        self._client: Any = connect_async(redis_url, timeout_s=_TIMEOUT_S, max_connections=_MAX_CONNECTIONS)
        self._wake_key = f"{PREFIX}wake:{uuid4().hex}"
        self._positions: dict[str, int] = {}
        self._subscribers: dict[str, set[Subscriber]] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def num_followed(self) -> int:
        """Streams that wait for a request's next frame: a request counts for each connection that follows it."""
        return sum(map(len, self._subscribers.values()))

    async def entries(self, request_id: str, after: Mark) -> AsyncGenerator[list[Entry], None]:
        """Yield entries after a mark, each once, as many as are there: first those in the log, then new ones.

        Ends after SILENCE_S without an entry. Raises Overflow, and BeginAgain where an entry follows another log.
        """
        key, subscriber = log_key(request_id), Subscriber()
        # Read the log at the reader's own pace first, so that its queue does not fill while it catches up.
        async for page in self._stored(key, after.seq):
            after = _last(page, after)
            yield page
        await self._subscribe(key, subscriber, after.seq)
        try:
            while news := await subscriber.get():
                if unread := [entry for entry in news if entry.last_seq > after.seq]:
                    after = _last(unread, after)
                    yield unread
        finally:
            self._unsubscribe(key, subscriber)

    async def _stored(self, key: str, after: int) -> AsyncIterator[list[Entry]]:
        """Yield the log's present entries, a page at a time: a long log is never in memory as a whole."""
        is_more = True
        while is_more:
            rows = await self._client.xrange(key, min=f"({after}-0" if after else "-", count=_PAGE_ENTRIES)
            is_more = len(rows) == _PAGE_ENTRIES
            if rows:
                page = [parse_entry(*row) for row in rows]
                after = page[-1].last_seq
                yield page

    async def has(self, request_id: str, mark: Mark) -> bool:
        """Return whether the log has what a reader at this mark has read, or there is no log."""
        last = await self.last(request_id)
        if mark == BEGINNING or last is None or last.mark == mark:
            return True
        if not mark.digest:
            return last.last_seq >= mark.seq
        rows = await self._client.xrange(log_key(request_id), f"{mark.seq}-0", f"{mark.seq}-0")
        return bool(rows) and mark.agrees_with(parse_entry(*rows[0]).digest)

    async def last(self, request_id: str) -> Entry | None:
        """The log's last entry; None when there is no log."""
        rows = await self._client.xrevrange(log_key(request_id), count=1)
        return parse_entry(*rows[0]) if rows else None

    async def _subscribe(self, key: str, subscriber: Subscriber, after: int) -> None:
        """Subscribe. Where the hub is ahead, it goes back: its other subscribers skip what they have had."""
        self._positions[key] = min(after, self._positions.get(key, after))
        self._subscribers.setdefault(key, set()).add(subscriber)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        await self._wake()

    def _unsubscribe(self, key: str, subscriber: Subscriber) -> None:
        remaining = self._subscribers.get(key, set())
        remaining.discard(subscriber)
        if not remaining:
            self._subscribers.pop(key, None)
            self._positions.pop(key, None)

    async def _wake(self) -> None:
        """End the blocking read, so that it starts again with the new set of logs."""
        pipeline = self._client.pipeline(transaction=False)
        pipeline.xadd(self._wake_key, {"n": "1"}, maxlen=1, approximate=False)
        pipeline.expire(self._wake_key, 3600)
        await pipeline.execute()

    async def _run(self) -> None:
        woken = "0-0"
        while self._subscribers:
            try:
                asked = dict(self._positions)
                streams = {key: f"{seq}-0" for key, seq in asked.items()} | {self._wake_key: woken}
                found = await self._client.xread(streams, count=_PAGE_ENTRIES, block=_BLOCK_MS) or ()
                for raw_key, rows in found:
                    key = raw_key.decode()
                    if key == self._wake_key:
                        woken = rows[-1][0].decode()
                    elif self._positions.get(key) == asked[key]:  # else a subscriber has sent the hub back
                        self._dispatch(key, [parse_entry(*row) for row in rows])
                await asyncio.sleep(min(_GATHER_S * len(found), _MOST_GATHER_S))
            except RedisError:
                await asyncio.sleep(_RETRY_S)

    def _dispatch(self, key: str, entries: list[Entry]) -> None:
        self._positions[key] = entries[-1].last_seq
        for entry in entries:
            for subscriber in self._subscribers.get(key, ()):
                subscriber.put(entry)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._client.aclose()


def _last(entries: Sequence[Entry], after: Mark) -> Mark:
    """Return the mark of the last entry for a reader at `after`. Raises BeginAgain where one follows another log."""
    for entry in entries:
        if after.digest and not (entry.seq == after.seq + 1 and after.agrees_with(entry.follows)):
            raise BeginAgain
        after = entry.mark
    return after
