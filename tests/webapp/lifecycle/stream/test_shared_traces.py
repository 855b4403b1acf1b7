"""Streams of one saved trace hold it once, and each new edition of it is read."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncGenerator

import pytest
from asgiref.sync import sync_to_async

from inference.eventlog.entry import BEGINNING
from inference.protocol.events import Frame
from tests.webapp.traces.export.test_exports import FRAMES, import_, signed_in
from webapp.lifecycle.stream.frames import Again, Unreadable, WireFrame, frames
from webapp.requests.models import Request
from webapp.traces.file.jsonfile import encode_json
from webapp.traces.models import Trace

pytestmark = pytest.mark.django_db(transaction=True)
LONG = [
    FRAMES[0],
    *(Frame(seq=seq, events=(FRAMES[1].events[0],)) for seq in range(2, 20_000)),
    Frame(seq=20_000, events=FRAMES[1].events[1:]),
]


@sync_to_async
def saved(trace: list[Frame]) -> Request:
    answer = import_(signed_in("alice"), encode_json(trace, {"title": "one"}))
    return Request.objects.get(pk=answer.json()["requests"][0]["id"])


async def opened(request: Request) -> AsyncGenerator[WireFrame | Again, None]:
    stream = frames(request, BEGINNING)
    await anext(stream)
    return stream


async def test_streams_of_one_trace_that_are_not_read_hold_it_once() -> None:
    request = await saved(LONG)
    await (await opened(request)).aclose()
    gc.collect()
    tracemalloc.start()
    try:
        streams = [await opened(request)]
        gc.collect()
        one, _ = tracemalloc.get_traced_memory()
        streams += [await opened(request) for _ in range(9)]
        gc.collect()
        ten, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ten < 3 * one
    for stream in streams:
        await stream.aclose()


async def test_a_deleted_trace_is_gone_for_the_next_stream_though_one_is_open() -> None:
    request = await saved(FRAMES)
    stream = await opened(request)
    await Trace.objects.filter(pk=request.pk).adelete()
    with pytest.raises(Unreadable, match="was deleted"):
        await opened(request)
    await stream.aclose()
