"""Questions of the exhibits: each is counted, and a worker's answer is awaited. Knows nothing of what they ask."""

from __future__ import annotations

from typing import Any

import msgspec

from webapp.api.requests.waiting import Waiting
from webapp.ground.gateway.answer import Answer
from webapp.ground.gateway.errors import ApiError
from webapp.lifecycle.probes.job import JobStatus, Overloaded, WorkerJob
from webapp.usage.limits.window import is_within

_PATIENCE_S = {"queued": 60.0, "running": 300.0}
"""Seconds per state. An experiment has the lowest priority, as a probe: minutes beside a busy engine."""
_WINDOW_S = 10
_MAX_ASKED = 40
"""New questions of one user in a window: more than moving a slider causes."""


def asked(job: WorkerJob, payload: str, user: int) -> Answer[Any]:
    """The worker's answer, or 202 until it is there. Raises ApiError."""
    status = job.status()
    if status is None:
        count(user)
        try:
            job.enqueue(payload)
        except Overloaded:
            raise ApiError(503, "overloaded", "The queue is full. Try again in a minute.", retry_after_s=60) from None
        return Answer(Waiting(state="queued"), status=202)
    if status.state == "done":
        return Answer(msgspec.Raw(status.event))
    if status.state == "failed":
        job.clear()
        raise ApiError(400 if status.code == "invalid" else 503, status.code, status.message)
    if status.waited_s > _PATIENCE_S[status.state]:
        job.clear()
        raise _given_up(status)
    return Answer(msgspec.convert({"state": status.state}, Waiting), status=202)


def _given_up(status: JobStatus) -> ApiError:
    message = f"No worker answered in {status.waited_s:.0f} s. Are all of the server's processes running?"
    return ApiError(503, "no_worker", message)


def count(user: int) -> None:
    """Count a question. Raises ApiError when this user asks more than the exhibits do."""
    if not is_within("learn", user, _MAX_ASKED, _WINDOW_S):
        message = f"At most {_MAX_ASKED} questions in {_WINDOW_S} s. Wait a moment and try again."
        raise ApiError(429, "too_many", message, retry_after_s=_WINDOW_S)
