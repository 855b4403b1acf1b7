"""Lists the inference workers by their heartbeats."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import redis
from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.keys import DRAINED_WORKERS, worker_key
from webapp.ground.gateway.structs import Result

PLACES_OF_ONE = 192
"""Requests that one worker takes at once, as its command says: its engine runs 64 and lets 128 wait."""
_TIMEOUT_S = 2
"""A server that answers no sooner counts as unreachable."""


class WorkerStatus(Result):
    """An inference worker's last heartbeat."""

    state: Literal["loading", "ready", "draining", "failed"]
    """draining: it was told to stop, ends its answers and takes no new ones."""
    progress: str
    message: str
    """The cause of a failure; empty for users who are no operators."""
    model: str
    tokenizer: str
    """Hash of the tokenizer's definition; empty before the model is loaded."""
    num_places: int
    """Requests that it takes at once."""


def heartbeats() -> dict[str, WorkerStatus]:
    """Each worker's state by the worker's name. Raises RedisError."""
    connection, prefix = client(), worker_key("")
    keys = list(connection.scan_iter(worker_key("*"), count=1000))
    rows: list[tuple[str, Any]] = [(key.removeprefix(prefix), connection.hgetall(key)) for key in keys]
    return {name: _status(row) for name, row in rows if row}


def _status(row: dict[str, str]) -> WorkerStatus:
    texts = {name: row.get(name, "") for name in ("state", "progress", "message", "model", "tokenizer")}
    return WorkerStatus(num_places=int(row.get("num_places", 0)), **texts)  # type: ignore[arg-type]


def workers() -> list[WorkerStatus] | None:
    """Each worker's state; None when Redis cannot be reached."""
    try:
        return list(heartbeats().values())
    except redis.RedisError:
        return None


def ready_workers(model: str) -> list[str] | None:
    """Names of the workers that have this model loaded; None when Redis cannot be reached."""
    try:
        found = heartbeats_of(model)
    except redis.RedisError:
        return None
    return [name for name, status in found.items() if status.state == "ready"]


def heartbeats_of(model: str) -> dict[str, WorkerStatus]:
    """The state of each worker of a model by the worker's name. Raises RedisError."""
    return {name: status for name, status in heartbeats().items() if status.model == model}


def drained() -> set[str]:
    """Names of workers that an operator lets take no more requests. Raises RedisError."""
    found: Any = client().smembers(DRAINED_WORKERS)
    return set(found)


def is_alive(name: str) -> bool:
    """True while this worker has a heartbeat. Raises RedisError."""
    return bool(client().exists(worker_key(name)))


def set_drained(name: str, is_drained: bool) -> None:
    """Let a worker take no more requests, or take them again. It obeys at its next heartbeat. Raises RedisError."""
    if is_drained:
        client().sadd(DRAINED_WORKERS, name)
    else:
        client().srem(DRAINED_WORKERS, name)


def drain_all(model: str) -> None:
    """Let all workers of a model take no more requests. Raises RedisError."""
    for name in heartbeats_of(model):
        set_drained(name, True)


def suspect(name: str) -> None:
    """Count a worker as gone until its next heartbeat, which a worker that lives sends within seconds.

    Raises RedisError.
    """
    client().delete(worker_key(name))


@cache
def client() -> redis.Redis:
    """The connection for what workers tell of themselves. It decodes responses."""
    return connect(settings.ENVIRONMENT.redis_url, decode_responses=True, timeout_s=_TIMEOUT_S)
