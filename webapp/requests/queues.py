"""Counts the tasks that wait in Celery's queues. Knows nothing of their content.

Generations wait in several queues: one for each model, and one for each worker.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import redis
from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.keys import GENERATE_QUEUES

_TIMEOUT_S = 2


def queue_lengths(*queues: str) -> list[int]:
    """Tasks in each queue that no worker has taken. Raises RedisError."""
    pipeline = _client().pipeline(transaction=False)
    for queue in queues:
        pipeline.llen(queue)
    lengths: list[Any] = pipeline.execute()
    return lengths


def generate_queues() -> list[str]:
    """The names of the queues of generations. Raises RedisError."""
    names: Any = _client().smembers(GENERATE_QUEUES)
    return sorted(name.decode() for name in names)


def num_generations(*queues: str) -> int:
    """Generations that no worker has taken; queues: those to look at, else all. Raises RedisError."""
    return sum(queue_lengths(*(queues or generate_queues())))


def add_generate_queue(name: str) -> None:
    """Have a queue of generations counted from now on. Raises RedisError."""
    _client().sadd(GENERATE_QUEUES, name)


def drop_generate_queue(name: str) -> None:
    """Delete the queue of a worker that is gone. Raises RedisError."""
    pipeline = _client().pipeline(transaction=False)
    pipeline.srem(GENERATE_QUEUES, name)
    pipeline.delete(name)
    pipeline.execute()


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url, timeout_s=_TIMEOUT_S)
