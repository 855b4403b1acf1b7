"""Server-sent events of a family's API, each on a place of the user's streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from django.http import HttpRequest, StreamingHttpResponse

from webapp.ground.gateway.errors import ApiError, user_id
from webapp.lifecycle.stream.places import Place, TooManyStreams, places


class Stream(StreamingHttpResponse):
    """Server-sent events of a call. Holds a place of the user's streams until its end."""

    def __init__(self, content: AsyncIterator[bytes], place: Place) -> None:
        super().__init__(_leaving(content, place), content_type="text/event-stream; charset=utf-8")
        self._place = place
        self["Cache-Control"] = "no-store"
        self["X-Accel-Buffering"] = "no"

    def close(self) -> None:
        super().close()
        self._place.leave()


async def _leaving(content: AsyncIterator[bytes], place: Place) -> AsyncIterator[bytes]:
    try:
        async for piece in content:
            yield piece
    finally:
        place.leave()
        await content.aclose()  # type: ignore[attr-defined]


@contextmanager
def place_if(is_stream: bool, request: HttpRequest) -> Iterator[Place | None]:
    """Take a place for a stream before its call begins: a stream that has none begins no work. Raises ApiError.

    The place is left where the block raises. Else the stream leaves it at its end.
    """
    place = place_for(request) if is_stream else None
    try:
        yield place
    except BaseException:
        if place is not None:
            place.leave()
        raise


def place_for(request: HttpRequest) -> Place:
    """Take a place for a stream. Raises ApiError."""
    try:
        return places().take(user_id(request))
    except TooManyStreams as error:
        raise ApiError(429, "too_many_requests", str(error), retry_after_s=5) from None
