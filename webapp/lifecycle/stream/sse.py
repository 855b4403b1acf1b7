"""Server-sent events of one request (WHATWG HTML, section 9.2). Knows nothing of the events' meaning."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from django.http import HttpRequest, HttpResponseNotAllowed, StreamingHttpResponse
from django.http.response import HttpResponseBase
from redis.exceptions import RedisError

from inference.eventlog.entry import BEGINNING, Mark
from webapp.ground.gateway.errors import ApiError, not_found, not_signed_in
from webapp.lifecycle.stream.frames import Again, Unreadable, WireFrame, find_request, frames, read
from webapp.lifecycle.stream.hub import Overflow
from webapp.lifecycle.stream.places import Place, TooManyStreams, places
from webapp.lifecycle.stream.session import Ending, ending_of

logger = logging.getLogger(__name__)

KEEP_ALIVE_S = 15.0
_RETRY_S = 5
MAX_CONNECTION_BYTES = 1 << 20
"""Limit of one connection: Daphne buffers without bound for a reader that stops, and SSE has no acknowledgements.
After it the reader must reconnect, which browsers do by themselves."""


class _SignedOut(Exception):
    """The sign-in or the key that opened the stream counts no more."""


async def events(request: HttpRequest, request_id: str) -> HttpResponseBase:
    """GET /api/requests/<id>/events: frames after Last-Event-ID (or ?after=)."""
    if request.method != "GET":
        return HttpResponseNotAllowed(["GET"])
    user = await request.auser()
    if not user.is_authenticated:
        return not_signed_in().response()
    found = await read(lambda: find_request(user.pk, request_id))
    if found is None:
        return not_found("request").response()
    try:
        after = Mark.parse(request.headers.get("Last-Event-ID") or request.GET.get("after") or "0")
    except ValueError:
        return ApiError(400, "invalid", "Last-Event-ID must be the id of a frame, as the stream sent it.").response()
    try:
        place = places().take(found.user_id)
    except TooManyStreams as error:
        return ApiError(429, "too_many_streams", str(error), retry_after_s=_RETRY_S).response()
    source = frames(found, after)
    try:
        first = await anext(source, None) if found.is_settled else None
    except Unreadable as error:
        place.leave()
        return ApiError(409, "trace_unreadable", str(error)).response()
    except BaseException:
        place.leave()
        raise
    body = _body(request_id, source, first, after, ending_of(request), place)
    response = _Stream(place, body, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


class _Stream(StreamingHttpResponse):
    """Leaves its place also where its content was never asked for: the reader was gone."""

    def __init__(self, place: Place, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._place = place

    def close(self) -> None:
        super().close()
        self._place.leave()


async def _body(
    request_id: str,
    source: AsyncIterator[WireFrame | Again],
    first: WireFrame | Again | None,
    after: Mark,
    ending: Ending,
    place: Place,
) -> AsyncIterator[bytes]:
    num_bytes, last = 0, after
    try:
        async for frame in _with_pauses(source, first, ending):
            if frame is None:
                yield b": keep-alive\n\n"
                continue
            if isinstance(frame, Again):
                last = BEGINNING
                yield b"id\nevent: again\ndata: {}\n\n"  # an empty id: the browser forgets the last one
                continue
            last, num_bytes = frame.mark, num_bytes + len(frame.json)
            yield b"id: %s\nevent: frame\ndata: %s\n\n" % (str(last).encode(), frame.json)
            if num_bytes > MAX_CONNECTION_BYTES:
                raise Overflow
        yield b"event: end\ndata: {}\n\n"
    except Overflow:
        yield b'event: resume\ndata: {"after": "%s"}\n\n' % str(last).encode()
    except _SignedOut:
        pass  # no `end` is sent, so the reader connects again and gets a 401
    except (RedisError, Unreadable) as error:
        # Without `end` the reader reconnects by itself, with growing pauses.
        logger.warning("the log of %s cannot be read: %s", request_id, error)
    finally:
        place.leave()
        await source.aclose()  # type: ignore[attr-defined]


async def _with_pauses(
    source: AsyncIterator[WireFrame | Again], first: WireFrame | Again | None, ending: Ending
) -> AsyncIterator[WireFrame | Again | None]:
    """Yield the first frame, then the source's others, and None after each KEEP_ALIVE_S of silence.

    Raises _SignedOut.
    """
    step: asyncio.Future[WireFrame | Again] | None = None
    caller = asyncio.ensure_future(ending())
    try:
        if first is not None:
            yield first
        while True:
            step = step or asyncio.ensure_future(anext(source))
            both: tuple[asyncio.Future[Any], ...] = (step, caller)
            await asyncio.wait(both, timeout=KEEP_ALIVE_S, return_when=asyncio.FIRST_COMPLETED)
            if caller.done():
                caller.result()
                raise _SignedOut
            if not step.done():
                yield None
                continue
            finished, step = step, None
            try:
                yield finished.result()
            except StopAsyncIteration:
                return
    finally:
        caller.cancel()
        if step is not None:
            step.cancel()
            await asyncio.wait([step])
