"""Counts the tasks that wait in Celery's queues. Knows nothing of their content."""

from __future__ import annotations

from functools import cache
from typing import Any

import redis
from django.conf import settings

_TIMEOUT_S = 2


def queue_lengths(*queues: str) -> list[int]:
    """Tasks in each queue that no worker has taken. Raises RedisError."""
    pipeline = _client().pipeline(transaction=False)
    for queue in queues:
        pipeline.llen(queue)
    lengths: list[Any] = pipeline.execute()
    return lengths


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.ENVIRONMENT.redis_url, socket_timeout=_TIMEOUT_S)
