"""Reads what the inference workers publish of their work. Knows nothing of how it is shown."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import redis
from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.keys import snapshot_history_key, snapshot_key, snapshot_workers_key
from inference.protocol.snapshot import HISTORY_S, WorkerSnapshot, decode_snapshot

_TIMEOUT_S = 2
"""A page that shows the present moment does not wait longer for it."""


class Entry(NamedTuple):
    """One snapshot of a worker's history, without its requests."""

    unix_ms: int
    """Time by Redis's clock, the same for all workers."""
    snapshot: WorkerSnapshot


class Published(NamedTuple):
    """The last account of one worker that published in the last 15 minutes."""

    snapshot: WorkerSnapshot
    is_current: bool
    """False: the worker has fallen silent, or has stopped. Its requests are not known then."""
    recent: tuple[Entry, ...]
    """The last two entries of its history, the older one first. The difference of their counters gives rates."""


def latest() -> list[Published]:
    """The workers' last snapshots, by name. Raises RedisError."""
    names = sorted(name.decode() for name in _reply(_client().zrange(snapshot_workers_key(), 0, -1)))
    if not names:
        return []
    pipeline = _client().pipeline(transaction=False)
    pipeline.mget([snapshot_key(name) for name in names])
    for name in names:
        pipeline.xrevrange(snapshot_history_key(name), count=2)
    current, *recent = _reply(pipeline.execute())
    return [_published(*pair) for pair in zip(current, recent, strict=True) if any(pair)]


def _published(payload: bytes | None, rows: list[tuple[bytes, dict[bytes, bytes]]]) -> Published:
    recent = tuple(_entry(*row) for row in reversed(rows))
    snapshot = recent[-1].snapshot if payload is None else decode_snapshot(payload)
    return Published(snapshot, payload is not None and not snapshot.is_stopping, recent)


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
    return connect(settings.ENVIRONMENT.redis_url, timeout_s=_TIMEOUT_S)
