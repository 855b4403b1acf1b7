"""Asks workers how many of a prompt's tokens their prefix caches hold, with a short timeout. Computes nothing."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import cache
from typing import Any
from uuid import uuid4

import redis
from asgiref.sync import sync_to_async
from django.conf import settings

from inference.eventlog.async_connections import connect_async
from inference.eventlog.connections import TIMEOUT_S, connect
from inference.eventlog.keys import peek_reply_key, peeks_key
from inference.protocol.peek import CachePeek, encode_peek
from webapp.requests.workers import ready_workers

_PATIENCE_S = 0.4
"""Timeout: an idle or computing worker answers within milliseconds."""
_SHORT_PATIENCE_S = 0.03
"""Timeout where a request waits for the answer."""
_EXPIRY_S = 5


async def num_cached(ids: list[int], model: str, principal: str, patience_s: float = _PATIENCE_S) -> int | None:
    """Return the most tokens that one worker's cache holds. None: no worker answered. The wait holds no thread."""
    workers = await sync_to_async(ready_workers)(model)
    asked = _reply_keys(workers or [])
    try:
        await sync_to_async(_send)(asked, tuple(ids), model, principal)
        found = [num async for num in _awaited(list(asked), time.monotonic() + patience_s)]
    except redis.RedisError:
        return None
    return max((num for num in found if num is not None), default=None)


def ask(
    workers: Sequence[str], ids: tuple[int, ...], model: str, principal: str, patience_s: float = _SHORT_PATIENCE_S
) -> dict[str, int | None]:
    """Return the number of cached tokens by worker; None: the worker does not know it. Late workers are left out."""
    asked = _reply_keys(workers)
    try:
        _send(asked, ids, model, principal)
        return {asked[key]: num for key, num in _answers(list(asked), time.monotonic() + patience_s)}
    except redis.RedisError:
        return {}


def _reply_keys(workers: Sequence[str]) -> dict[str, str]:
    """Each worker by the key of its reply."""
    return {peek_reply_key(uuid4().hex): worker for worker in workers}


def _send(asked: dict[str, str], ids: tuple[int, ...], model: str, principal: str) -> None:
    pipeline = _client().pipeline(transaction=False)
    for reply_to, worker in asked.items():
        pipeline.rpush(peeks_key(worker), encode_peek(CachePeek(reply_to, model, principal, ids)))
        pipeline.expire(peeks_key(worker), _EXPIRY_S)
    pipeline.execute()


def _answers(keys: list[str], deadline: float) -> Iterator[tuple[str, int | None]]:
    while keys and (left_s := deadline - time.monotonic()) > 0:
        found: Any = _client().blpop(keys, timeout=left_s)
        if found is None:
            return
        key = found[0].decode()
        keys.remove(key)
        yield key, _number(found[1])


async def _awaited(keys: list[str], deadline: float) -> AsyncIterator[int | None]:
    async with connect_async(settings.ENVIRONMENT.redis_url, timeout_s=TIMEOUT_S, max_connections=1) as client:
        while keys and (left_s := deadline - time.monotonic()) > 0:
            found: Any = await client.blpop(keys, timeout=left_s)
            if found is None:
                return
            keys.remove(found[0].decode())
            yield _number(found[1])


def _number(reply: bytes) -> int | None:
    return int(reply) if reply else None


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url)
