"""Reads what the inference workers publish of their work. Knows nothing of how it is shown."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import redis
from django.conf import settings

from inference.eventlog.keys import snapshot_history_key, snapshot_key, snapshot_workers_key
from inference.protocol.snapshot import HISTORY_S, WorkerSnapshot, decode_snapshot

_TIMEOUT_S = 2
"""A page that shows the present moment does not wait longer for it."""


class Published(NamedTuple):
    """The last account of one worker that published in the last 15 minutes."""

    snapshot: WorkerSnapshot
    is_current: bool
    """False: the worker has fallen silent, or has stopped. Its requests are not known then."""


class Entry(NamedTuple):
    """One snapshot of a worker's history, without its requests."""

    unix_ms: int
    """Time by Redis's clock, the same for all workers."""
    snapshot: WorkerSnapshot


def latest() -> list[Published]:
    """The workers' last snapshots, by name. Raises RedisError."""
    names = sorted(name.decode() for name in _reply(_client().zrange(snapshot_workers_key(), 0, -1)))
    if not names:
        return []
    current = _reply(_client().mget([snapshot_key(name) for name in names]))
    found = [_published(name, payload) for name, payload in zip(names, current, strict=True)]
    return [each for each in found if each is not None]


def _published(name: str, payload: bytes | None) -> Published | None:
    if payload is not None:
        snapshot = decode_snapshot(payload)
        return Published(snapshot, not snapshot.is_stopping)
    rows = _reply(_client().xrevrange(snapshot_history_key(name), count=1))
    return Published(_entry(*rows[0]).snapshot, False) if rows else None


def history(worker: str) -> list[Entry]:
    """The worker's snapshots of the last 15 minutes, oldest first. Raises RedisError."""
    seconds, _ = _reply(_client().time())
    rows = _reply(_client().xrange(snapshot_history_key(worker), min=(seconds - HISTORY_S) * 1000))
    return [_entry(*row) for row in rows]


def _entry(entry_id: bytes, fields: dict[bytes, bytes]) -> Entry:
    return Entry(int(entry_id.split(b"-")[0]), decode_snapshot(fields[b"snapshot"]))


def _reply(reply: Any) -> Any:
    """redis-py's types describe the replies of every protocol version, and of asynchronous clients, at once."""
    return reply


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.ENVIRONMENT.redis_url, socket_timeout=_TIMEOUT_S)
