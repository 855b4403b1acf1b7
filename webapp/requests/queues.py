"""Counts the tasks that wait in Celery's queues. Knows nothing of their content.

Generations wait in several queues: one for each model, and one for each worker.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import redis
from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.keys import GENERATE_QUEUES, WORKER_QUEUES
from webapp.requests.workers import is_alive

QUEUES = ("prepare", "tools", "attachments", "settle", "probes", "otlp")
"""Celery's queues, but for those of generations."""
_TIMEOUT_S = 2
GENERATION_EXPIRY_S = 3600
"""Lifetime of a queued generation, in seconds. The watchdog has ended its request long before."""


def queue_lengths(*queues: str) -> list[int]:
    """Tasks in each queue that no worker has taken. Raises RedisError."""
    pipeline = _client().pipeline(transaction=False)
    for queue in queues:
        pipeline.llen(queue)
    lengths: list[Any] = pipeline.execute()
    return lengths


def generate_queues() -> list[str]:
    """The names of the queues of generations. Raises RedisError."""
    names: Any = _client().zrange(GENERATE_QUEUES, 0, -1)
    return sorted(name.decode() for name in names)


def num_generations(*queues: str) -> int:
    """Generations that no worker has taken; queues: those to look at, else all. Raises RedisError."""
    return sum(queue_lengths(*(queues or generate_queues())))


def add_generate_queue(name: str) -> None:
    """Have a queue of generations counted from now on. Raises RedisError."""
    _client().zadd(GENERATE_QUEUES, {name: time.time()})


def drop_lost_queues() -> None:
    """Empty the queues of workers that are gone. A request that waits there is placed anew once its lease is over.

    A message may be on its way to such a queue, so its name stays for as long as messages live. Raises RedisError.
    """
    queues = [name for name in generate_queues() if name.startswith(WORKER_QUEUES)]
    lost = [name for name in queues if not is_alive(name.removeprefix(WORKER_QUEUES))]
    if lost:
        _client().delete(*lost)
    _client().zremrangebyscore(GENERATE_QUEUES, "-inf", time.time() - GENERATION_EXPIRY_S)


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url, timeout_s=_TIMEOUT_S)
