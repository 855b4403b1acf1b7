"""The question for a prompt's cached tokens: callers that wait for a worker's answer hold no thread."""

from __future__ import annotations

import asyncio

import redis
import redis.asyncio

from inference.eventlog.keys import peeks_key, worker_key
from inference.protocol.peek import decode_peek
from webapp.lifecycle import cache_peek

NUM_CALLERS = 40
MODEL = "m"


async def answer_when_all_wait(url: str) -> None:
    """The worker: it answers the last caller's question first, and none before all have asked."""
    async with redis.asyncio.Redis.from_url(url) as client:
        asked = [decode_peek((await client.blpop([peeks_key("w")], timeout=60))[1]) for _ in range(NUM_CALLERS)]
        for place, peek in reversed(list(enumerate(asked))):
            await client.rpush(peek.reply_to, str(place))


async def ask_at_once(url: str) -> list[int | None]:
    """All callers share one thread here, for what is not asynchronous."""
    asks = [cache_peek.num_cached([1, 2, 3], MODEL, "user:1", patience_s=60) for _ in range(NUM_CALLERS)]
    *found, _ = await asyncio.gather(*asks, answer_when_all_wait(url))
    return found


def test_forty_callers_wait_at_once_in_one_thread(redis_url: str, redis_client: redis.Redis) -> None:
    redis_client.hset(worker_key("w"), mapping={"state": "ready", "model": MODEL})
    found = asyncio.run(ask_at_once(redis_url))
    assert sorted(num for num in found if num is not None) == list(range(NUM_CALLERS))


def test_a_worker_that_does_not_answer_is_not_waited_for(redis_client: redis.Redis) -> None:
    redis_client.hset(worker_key("w"), mapping={"state": "ready", "model": MODEL})
    assert asyncio.run(cache_peek.num_cached([1, 2, 3], MODEL, "user:1")) is None
