"""One request's frames for one connection, live or saved. Knows nothing of the transport."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections

from inference.eventlog.entry import BEGINNING, Entry, Mark
from inference.protocol.codec import encode_frame
from inference.protocol.events import AnyEvent, Frame
from webapp.lifecycle.stream.hub import BeginAgain, Hub
from webapp.lifecycle.stream.rows import Rows
from webapp.lifecycle.stream.shared_traces import SharedTrace, shared_traces
from webapp.requests.models import Request
from webapp.traces.file.archive import TraceFileError

logger = logging.getLogger(__name__)

_TERMINAL = (b'"type":"request.finished"', b'"type":"request.failed"')
"""Quotes inside JSON strings are escaped, so these bytes can only be an event's tag."""


_PACKED_EVENTS = 128
"""About 45 KiB of JSON with 20 candidates per token: an event loop encodes that in less than a millisecond."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class WireFrame:
    """An encoded frame."""

    mark: Mark
    json: bytes


@dataclass(frozen=True)
class Again:
    """The log was lost, and written anew: what the reader has read is void, and the frames begin again."""


@cache
def _hub_of(_loop: asyncio.AbstractEventLoop) -> Hub:
    return Hub(settings.ENVIRONMENT.redis_url)


def hub() -> Hub:
    """This process's hub. There is one per event loop, and a web process has one loop."""
    return _hub_of(asyncio.get_running_loop())


@cache
def _rows_of(_loop: asyncio.AbstractEventLoop) -> Rows[Request]:
    return Rows(lambda ids: read(lambda: Request.objects.only("user_id", "finished_at").in_bulk(ids)))


class Unreadable(Exception):
    """There are no events to send; the message gives the reason."""


def find_request(user_id: int | None, request_id: str) -> Request | None:
    """The user's own request, without its input and answer; None for another user's."""
    if user_id is None or "\x00" in request_id:  # PostgreSQL accepts no NUL, not even in a lookup
        return None
    try:
        return Request.objects.only("user_id", "finished_at").get(pk=request_id, user_id=user_id)
    except Request.DoesNotExist:
        return None


async def frames(request: Request, after: Mark) -> AsyncGenerator[WireFrame | Again, None]:
    """Yield frames one by one up to the terminal one. Raises as `batches` does."""
    async with aclosing(batches(request, after)) as source:
        async for batch in source:
            if isinstance(batch, Again):
                yield batch
                continue
            for frame in batch:
                yield frame


async def batches(request: Request, after: Mark) -> AsyncGenerator[list[WireFrame] | Again, None]:
    """Yield frames up to the terminal one, as many together as are there.

    Raises Unreadable; Overflow when the connection does not keep up.
    """
    while not request.is_settled:
        try:
            if not await hub().has(request.id, after):
                raise BeginAgain
            # A reader that has the terminal event already must not wait for another.
            last = await hub().last(request.id) if after.seq else None
            if last is not None and last.last_seq <= after.seq and _is_terminal(last):
                return
            async with aclosing(hub().entries(request.id, after)) as entries:
                async for page in entries:
                    end = next((number for number, entry in enumerate(page, 1) if _is_terminal(entry)), None)
                    batch = [WireFrame(entry.mark, entry.json) for entry in page[:end]]
                    after = batch[-1].mark
                    yield batch
                    if end is not None:
                        return
        except BeginAgain:
            after = BEGINNING
            yield Again()
            continue
        # No frame came: the log may be gone, before the trace was saved or since.
        found = await _rows_of(asyncio.get_running_loop()).find(request.id)
        if found is None:
            raise Unreadable("The request was deleted.")
        request = found
    trace = await read(lambda: _saved(request.id))
    if not await read(lambda: trace.has(after)):
        after = BEGINNING
        yield Again()
    for saved in packed([frame for frame in trace.frames if frame.last_seq > after.seq]):
        yield [WireFrame(Mark(saved.last_seq), encode_frame(saved))]


def _saved(request_id: str) -> SharedTrace:
    """The saved trace. Raises Unreadable."""
    try:
        trace = shared_traces().load(request_id)
    except TraceFileError as error:
        logger.warning("the saved trace of %s cannot be read: %s", request_id, error)
        raise Unreadable(f"The saved trace cannot be read: {error}") from None
    if trace is None or not trace.frames:
        raise Unreadable("The trace of this request was deleted.")
    return trace


def packed(frames: list[Frame]) -> list[Frame]:
    """The same events in fewer frames. In a long answer, a message costs more than its content."""
    found: list[Frame] = []
    events: list[AnyEvent] = []
    for frame in frames:
        if len(events) + len(frame.events) > _PACKED_EVENTS and events:
            found.append(Frame(seq=frame.seq - len(events), events=tuple(events)))
            events = []
        events += frame.events
    if events:
        found.append(Frame(seq=frames[-1].last_seq + 1 - len(events), events=tuple(events)))
    return found


async def read(query: Callable[[], _T]) -> _T:
    """Run the query in a shared thread, which keeps its connection. An open stream holds neither."""

    def run() -> _T:
        close_old_connections()
        return query()

    return await sync_to_async(run, thread_sensitive=False)()


def _is_terminal(entry: Entry) -> bool:
    return any(tag in entry.events for tag in _TERMINAL)
