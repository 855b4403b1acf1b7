"""Answers with choices, as they come: what chat completions and completions share. Knows nothing of their forms."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Protocol

import msgspec

from inference.protocol.events import AnyEvent
from webapp.api.families.stream import Stream
from webapp.api.families.waiting import ready, refusal_of_failure, resumed
from webapp.api.openai.errors import error_of
from webapp.lifecycle.stream.places import Place
from webapp.surfaces.calls.answer import Ended, Failed
from webapp.surfaces.calls.relay import Lost, Source

_DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"


class Projection(Protocol):
    """One answer, event by event."""

    ended: Ended | None
    failed: Failed | None

    def feed(self, events: Iterable[AnyEvent]) -> Sequence[Any]:
        """Return the choices of the chunks that these events make."""
        ...


Chunk = Callable[[list[Any], list[Ended] | None], object]
"""Makes a chunk of its choices. The second: the ends of all answers, for the chunk with the usage."""


async def stream(
    source: Source, place: Place, projections: Sequence[Projection], chunk: Chunk, has_usage: bool
) -> Stream:
    """Return the chunks of all answers as they come. Raises ApiError where one fails before its first token."""
    try:
        came = await ready(source, len(projections))
    except BaseException:
        await source.aclose()
        raise
    return Stream(_chunks(resumed(came, source), projections, chunk, has_usage), place)


async def _chunks(
    source: Source, projections: Sequence[Projection], chunk: Chunk, has_usage: bool
) -> AsyncIterator[bytes]:
    try:
        async for item in source:
            if item is None:
                yield KEEP_ALIVE
                continue
            if choices := projections[item.index].feed(item.events):
                yield b"".join(frame(chunk([choice], None)) for choice in choices)
            if failed := projections[item.index].failed:
                yield frame(error_of(refusal_of_failure(failed.code, failed.message)))
                return
    except Lost as error:
        yield frame(error_of(refusal_of_failure(error.code, str(error))))
        return
    finally:
        await source.aclose()
    if has_usage:
        yield frame(chunk([], [each.ended for each in projections if each.ended]))
    yield _DONE


def frame(value: object) -> bytes:
    """Return a server-sent event without a name."""
    return b"data: %s\n\n" % msgspec.json.encode(value)
