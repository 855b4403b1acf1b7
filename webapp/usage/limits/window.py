"""A limit on what a user asks within a window of time, for questions that leave no request. Counted in Redis."""

from __future__ import annotations

import time
from functools import cache

import redis
from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.keys import PREFIX


def is_within(name: str, user_id: int, most: int, window_s: int) -> bool:
    """Count a question of this name; return whether the user asked no more than `most`. Raises RedisError."""
    key = f"{PREFIX}{name}:{user_id}:{int(time.time()) // window_s}"
    pipeline = _client().pipeline()
    pipeline.incr(key)
    pipeline.expire(key, 2 * window_s)
    return bool(pipeline.execute()[0] <= most)


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url)
