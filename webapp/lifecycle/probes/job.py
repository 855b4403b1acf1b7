"""Jobs that the site asks of workers: one Redis hash per job. Knows nothing of their content."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import redis
from django.conf import settings

from inference.eventlog.connections import connect
from webapp.celery import app

QUEUE = "probes"
_EXPIRY_S = 600
_MAX_WAITING = 32
"""Limit of waiting probes: each takes seconds, and users do not wait for minutes."""


class Overloaded(Exception):
    """The queue of jobs is full."""


@dataclass(frozen=True)
class JobStatus:
    """The state of one job."""

    state: str
    waited_s: float
    event: bytes = b""
    code: str = ""
    message: str = ""


class WorkerJob:
    """One job's hash in Redis."""

    def __init__(self, key: str, task: str = "inference.probe", queue: str = QUEUE) -> None:
        self._key = key
        self._task = task
        self._queue = queue

    def status(self) -> JobStatus | None:
        """Return the job's state; None: it was not queued."""
        row: Any = _client().hgetall(self._key)
        if b"state" not in row:
            return None
        return JobStatus(
            state=row[b"state"].decode(),
            waited_s=time.time() - float(row.get(b"since", 0)),
            event=row.get(b"event", b""),
            code=row.get(b"code", b"").decode(),
            message=row.get(b"message", b"").decode(),
        )

    def enqueue(self, payload: str) -> None:
        """Queue the job for a worker, unless it is queued already. Raises Overloaded."""
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
        """Delete the job: the next one begins anew, and a late worker finds nothing to answer."""
        _client().delete(self._key)


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url)
