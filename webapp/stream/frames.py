"""One request's frames for one connection, live or saved. Knows nothing of the transport."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache

from asgiref.sync import sync_to_async
from django.conf import settings

from inference.eventlog.keys import Entry
from inference.protocol.codec import encode_frame
from webapp.lifecycle.models import Request
from webapp.stream.hub import Hub
from webapp.traces.store import load_frames

_TERMINAL = (b'"type":"request.finished"', b'"type":"request.failed"')
"""Quotes inside JSON strings are escaped, so these bytes can only be an event's tag."""


@dataclass(frozen=True)
class WireFrame:
    """A frame as it is sent."""

    last_seq: int
    json: bytes


@cache
def _hub_of(_loop: asyncio.AbstractEventLoop) -> Hub:
    return Hub(settings.ENVIRONMENT.redis_url)


def hub() -> Hub:
    """This process's hub: one per event loop, and a web process has one."""
    return _hub_of(asyncio.get_running_loop())


async def find_request(user_id: int | None, request_id: str) -> Request | None:
    """The user's own request; None for everybody else's."""
    if user_id is None:
        return None
    return await Request.objects.filter(pk=request_id, user_id=user_id).afirst()


async def frames(request: Request, after: int) -> AsyncIterator[WireFrame]:
    """Ends after the terminal frame. Raises Overflow when the connection does not keep up."""
    if not request.is_settled and (tail := await hub().tail(request.id)):
        # Somebody who has seen the terminal event already must not wait for another.
        if not any(entry.last_seq <= after and _is_terminal(entry) for entry in tail):
            async for frame in _live(request.id, after):
                yield frame
        return
    for saved in await sync_to_async(load_frames)(request.id):
        if saved.last_seq > after:
            yield WireFrame(saved.last_seq, encode_frame(saved))


async def _live(request_id: str, after: int) -> AsyncIterator[WireFrame]:
    async for entry in hub().entries(request_id, after):
        yield WireFrame(entry.last_seq, entry.frame)
        if _is_terminal(entry):
            return


def _is_terminal(entry: Entry) -> bool:
    return any(tag in entry.events for tag in _TERMINAL)
