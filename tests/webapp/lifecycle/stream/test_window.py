"""Waiting for room ends with the stream that waits."""

from __future__ import annotations

import asyncio

import pytest

from webapp.lifecycle.stream.window import Window


@pytest.mark.parametrize("num_turns", range(12))
async def test_a_stream_that_is_cancelled_sends_nothing_more(num_turns: int) -> None:
    """At whichever turn of the event loop it is cancelled."""
    window, sent = Window(), list[int]()

    async def send() -> None:
        for _ in range(100):
            await window.wait_for_room()
            sent.append(1)
            await asyncio.sleep(0)

    stream = asyncio.create_task(send())
    for _ in range(num_turns):
        await asyncio.sleep(0)
    stream.cancel()
    num_sent = len(sent)
    await asyncio.wait([stream], timeout=1)
    assert stream.cancelled()
    assert len(sent) == num_sent
