"""A connection's queue gives what has come together, and never holds more than its limit."""

from __future__ import annotations

import pytest

from inference.eventlog.entry import Entry
from webapp.lifecycle.stream.hub import MAX_QUEUED_BYTES, Overflow, Subscriber


def entry(seq: int, num_bytes: int = 2) -> Entry:
    return Entry(seq, seq, b"x" * num_bytes)


async def test_entries_that_have_come_are_given_together() -> None:
    subscriber = Subscriber()
    for seq in (1, 2, 3):
        subscriber.put(entry(seq))
    assert [each.seq for each in await subscriber.get()] == [1, 2, 3]
    subscriber.put(entry(4))
    assert [each.seq for each in await subscriber.get()] == [4]


async def test_what_a_connection_was_given_counts_until_it_asks_again() -> None:
    subscriber, half = Subscriber(), MAX_QUEUED_BYTES // 2
    subscriber.put(entry(1, half))
    await subscriber.get()
    subscriber.put(entry(2, half))
    assert [each.seq for each in await subscriber.get()] == [2]
    subscriber.put(entry(3, half))
    subscriber.put(entry(4, half))
    with pytest.raises(Overflow):
        await subscriber.get()
