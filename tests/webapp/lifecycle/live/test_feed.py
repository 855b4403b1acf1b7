"""One reading serves all pages, a slow page misses moments, and trouble is a message."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

from redis.exceptions import ConnectionError as RedisGone

from webapp.lifecycle.live.feed import Feed
from webapp.lifecycle.live.view import LiveNow


class Service:
    """Counts how often it is read; its clock is that count."""

    def __init__(self) -> None:
        self.num_reads = 0
        self.trouble: Exception | None = None
        self.is_read = asyncio.Condition()

    async def read(self) -> LiveNow:
        async with self.is_read:
            self.num_reads += 1
            self.is_read.notify_all()
        if self.trouble:
            raise self.trouble
        return LiveNow(at_ms=self.num_reads, problem="", site=None, workers=[])

    async def read_times(self, num: int) -> None:
        async with self.is_read:
            await self.is_read.wait_for(lambda: self.num_reads >= num)


async def test_two_pages_share_each_reading() -> None:
    service = Service()
    feed = Feed(service.read)
    async with aclosing(feed.messages()) as one, aclosing(feed.messages()) as other:
        for _ in range(2):
            assert await anext(one) == await anext(other)
        assert service.num_reads == 2


async def test_a_slow_page_gets_the_newest_moment_only() -> None:
    service = Service()
    async with aclosing(Feed(service.read).messages()) as messages:
        assert json.loads(await anext(messages))["at_ms"] == 1
        await service.read_times(4)
        assert json.loads(await anext(messages))["at_ms"] >= 3


async def test_nothing_is_read_once_no_page_is_left() -> None:
    service = Service()
    feed = Feed(service.read)
    async with aclosing(feed.messages()) as messages:
        await anext(messages)
    async with aclosing(feed.messages()) as messages:
        first = json.loads(await anext(messages))["at_ms"]
    assert first <= service.num_reads


async def test_a_lost_redis_is_told_and_its_return_too() -> None:
    service = Service()
    service.trouble = RedisGone("gone")
    async with aclosing(Feed(service.read).messages()) as messages:
        lost = json.loads(await anext(messages))
        assert "Redis cannot be reached" in lost["problem"]
        assert (lost["site"], lost["workers"]) == (None, [])
        service.trouble = None
        assert json.loads(await anext(messages))["problem"] == ""


async def test_any_other_trouble_ends_no_stream() -> None:
    service = Service()
    service.trouble = ValueError("a database that is away")
    async with aclosing(Feed(service.read).messages()) as messages:
        assert "server's log" in json.loads(await anext(messages))["problem"]
        service.trouble = None
        assert json.loads(await anext(messages))["problem"] == ""
