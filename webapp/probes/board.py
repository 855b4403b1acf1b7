"""Where web site and workers meet: one hash in Redis per question. Knows nothing of what is asked."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import redis
from django.conf import settings

from webapp.celery import app

_EXPIRY_S = 600
_MAX_WAITING = 32
"""Probes that may wait: each takes seconds, and nobody waits for minutes."""


class Overloaded(Exception):
    """Too many questions wait already."""


@dataclass(frozen=True)
class Look:
    """How far one answer is."""

    state: str
    waited_s: float
    event: bytes = b""
    code: str = ""
    message: str = ""


class Board:
    """One question's place."""

    def __init__(self, key: str, task: str = "inference.probe", queue: str = "probes") -> None:
        self._key = key
        self._task = task
        self._queue = queue

    def look(self) -> Look | None:
        """None: nobody has asked."""
        row: Any = _client().hgetall(self._key)
        if b"state" not in row:
            return None
        return Look(
            state=row[b"state"].decode(),
            waited_s=time.time() - float(row.get(b"since", 0)),
            event=row.get(b"event", b""),
            code=row.get(b"code", b"").decode(),
            message=row.get(b"message", b"").decode(),
        )

    def ask(self, payload: str) -> None:
        """Hand it to a worker, unless somebody just did. Raises Overloaded."""
        client = _client()
        if client.llen(self._queue) >= _MAX_WAITING:
            raise Overloaded
        pipeline = client.pipeline()
        pipeline.hsetnx(self._key, "since", time.time())
        pipeline.hsetnx(self._key, "state", "queued")
        pipeline.expire(self._key, _EXPIRY_S)
        if pipeline.execute()[1]:
            app.send_task(self._task, args=[payload], queue=self._queue)

    def clear(self) -> None:
        """Whoever asks again begins anew; a worker that comes late finds that nobody waits."""
        _client().delete(self._key)


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.ENVIRONMENT.redis_url)
