"""Asks workers how many of a prompt's tokens their prefix caches hold, with a short timeout. Computes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any
from uuid import uuid4

import redis
from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.keys import peek_reply_key, peeks_key
from inference.protocol.peek import CachePeek, encode_peek
from webapp.requests.workers import ready_workers

_PATIENCE_S = 0.4
"""Timeout: an idle or computing worker answers within milliseconds."""
_SHORT_PATIENCE_S = 0.03
"""Timeout where a request waits for the answer."""
_EXPIRY_S = 5


def num_cached(ids: list[int], model: str, principal: str) -> int | None:
    """Return the most tokens that one worker's cache holds. None: no worker answered."""
    found = ask(ready_workers(model) or [], tuple(ids), model, principal, _PATIENCE_S)
    return max((num for num in found.values() if num is not None), default=None)


def ask(
    workers: Sequence[str], ids: tuple[int, ...], model: str, principal: str, patience_s: float = _SHORT_PATIENCE_S
) -> dict[str, int | None]:
    """Return the number of cached tokens by worker; None: the worker does not know it. Late workers are left out."""
    asked = {peek_reply_key(uuid4().hex): worker for worker in workers}
    try:
        _send({peeks_key(worker): CachePeek(key, model, principal, ids) for key, worker in asked.items()})
        return {asked[key]: num for key, num in _answers(list(asked), time.monotonic() + patience_s)}
    except redis.RedisError:
        return {}


def _send(peeks: dict[str, CachePeek]) -> None:
    pipeline = _client().pipeline(transaction=False)
    for key, peek in peeks.items():
        pipeline.rpush(key, encode_peek(peek))
        pipeline.expire(key, _EXPIRY_S)
    pipeline.execute()


def _answers(keys: list[str], deadline: float) -> Iterator[tuple[str, int | None]]:
    while keys and (left_s := deadline - time.monotonic()) > 0:
        found: Any = _client().blpop(keys, timeout=left_s)
        if found is None:
            return
        key = found[0].decode()
        keys.remove(key)
        yield key, int(found[1]) if found[1] else None


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url)
