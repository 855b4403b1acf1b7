"""Lists the inference workers by their heartbeats."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import redis
from django.conf import settings

from inference.eventlog.keys import worker_key
from webapp.gateway.structs import Result

_TIMEOUT_S = 2
"""A server that answers no sooner counts as unreachable."""


class WorkerStatus(Result):
    """An inference worker's last heartbeat."""

    state: Literal["loading", "ready", "failed"]
    progress: str
    message: str
    """The cause of a failure; empty for users who are no operators."""
    model: str


def heartbeats() -> dict[str, WorkerStatus]:
    """Each worker's state by the worker's name. Raises RedisError."""
    client, prefix, fields = _client(), worker_key(""), WorkerStatus.__struct_fields__
    keys = list(client.scan_iter(worker_key("*"), count=1000))
    rows: list[tuple[str, Any]] = [(key.removeprefix(prefix), client.hgetall(key)) for key in keys]
    return {name: WorkerStatus(**{field: row.get(field, "") for field in fields}) for name, row in rows if row}


def workers() -> list[WorkerStatus] | None:
    """Each worker's state; None when Redis cannot be reached."""
    try:
        return list(heartbeats().values())
    except redis.RedisError:
        return None


def ready_workers(model: str) -> list[str] | None:
    """Names of the workers that have this model loaded; None when Redis cannot be reached."""
    try:
        found = heartbeats()
    except redis.RedisError:
        return None
    return [name for name, status in found.items() if (status.state, status.model) == ("ready", model)]


def is_alive(name: str) -> bool:
    """True while this worker has a heartbeat. Raises RedisError."""
    return bool(_client().exists(worker_key(name)))


@cache
def _client() -> redis.Redis:
    url = settings.ENVIRONMENT.redis_url
    return redis.Redis.from_url(url, decode_responses=True, socket_timeout=_TIMEOUT_S)
