"""Asks the worker how many of a prompt's tokens its prefix cache holds, with a short timeout. Computes nothing."""

from __future__ import annotations

from functools import cache
from uuid import uuid4

import redis
from django.conf import settings

from inference.eventlog.keys import peek_reply_key, peeks_key
from inference.protocol.peek import CachePeek, encode_peek
from webapp.requests.workers import ready_workers

_PATIENCE_S = 0.4
"""Timeout: an idle or computing worker answers within milliseconds."""
_EXPIRY_S = 5


def num_cached(ids: list[int], model: str, principal: str) -> int | None:
    """Return the number of cached tokens. None: no worker answered, or there are several, each with its own cache."""
    names = ready_workers(model)
    if names is None or len(names) != 1:
        return None
    reply_to = peek_reply_key(uuid4().hex)
    try:
        _ask(peeks_key(names[0]), encode_peek(CachePeek(reply_to, model, principal, tuple(ids))))
        answer = _client().blpop([reply_to], timeout=_PATIENCE_S)
    except redis.RedisError:
        return None
    return int(answer[1]) if answer and answer[1] else None


def _ask(key: str, payload: bytes) -> None:
    pipeline = _client().pipeline()
    pipeline.rpush(key, payload)
    pipeline.expire(key, _EXPIRY_S)
    pipeline.execute()


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.ENVIRONMENT.redis_url)
