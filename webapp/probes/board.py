"""Where web site and probe worker meet: one hash in Redis per look. Knows nothing of what is looked at."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import redis
from django.conf import settings

from inference.eventlog.keys import probe_key
from webapp.celery import app

_EXPIRY_S = 600
_MAX_WAITING = 32
"""Probes that may wait: each takes seconds, and nobody waits for minutes."""


class Overloaded(Exception):
    """Too many probes wait already."""


@dataclass(frozen=True)
class Look:
    """How far one probe is."""

    state: str
    waited_s: float
    event: bytes = b""
    code: str = ""
    message: str = ""


class Board:
    """One probe's place."""

    def __init__(self, request_id: str, kind: str, position: int) -> None:
        self._key = probe_key(request_id, kind, position)

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
        """Hand it to the probe worker, unless somebody just did. Raises Overloaded."""
        client = _client()
        if client.llen("probes") >= _MAX_WAITING:
            raise Overloaded
        pipeline = client.pipeline()
        pipeline.hsetnx(self._key, "since", time.time())
        pipeline.hsetnx(self._key, "state", "queued")
        pipeline.expire(self._key, _EXPIRY_S)
        if pipeline.execute()[1]:
            app.send_task("inference.probe", args=[payload], queue="probes")

    def clear(self) -> None:
        """Whoever asks again begins anew; a worker that comes late finds that nobody waits."""
        _client().delete(self._key)


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.ENVIRONMENT.redis_url)
