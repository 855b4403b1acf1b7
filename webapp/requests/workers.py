"""Lists the inference workers by their heartbeats."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import redis
from django.conf import settings

from inference.eventlog.keys import worker_key
from webapp.gateway.structs import Result


class WorkerStatus(Result):
    """An inference worker's last heartbeat."""

    state: Literal["loading", "ready", "failed"]
    progress: str
    message: str
    """The cause of a failure; empty for users who are no operators."""
    model: str


def workers() -> list[WorkerStatus] | None:
    """Each worker's state; None when Redis cannot be reached."""
    client = _client()
    try:
        keys = list(client.scan_iter(worker_key("*"), count=1000))
        rows: list[Any] = [client.hgetall(key) for key in keys]
    except redis.RedisError:
        return None
    fields = WorkerStatus.__struct_fields__
    return [WorkerStatus(**{name: row.get(name, "") for name in fields}) for row in rows if row]


def ready_workers(model: str) -> list[str] | None:
    """Names of the workers that have this model loaded; None when Redis cannot be reached."""
    client, prefix = _client(), worker_key("")
    try:
        keys = list(client.scan_iter(worker_key("*"), count=1000))
        rows: list[Any] = [client.hgetall(key) for key in keys]
    except redis.RedisError:
        return None
    found = zip(keys, rows, strict=True)
    return [key.removeprefix(prefix) for key, row in found if (row.get("state"), row.get("model")) == ("ready", model)]


def is_alive(name: str) -> bool:
    """True while this worker has a heartbeat. Raises RedisError."""
    return bool(_client().exists(worker_key(name)))


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.ENVIRONMENT.redis_url, decode_responses=True)
