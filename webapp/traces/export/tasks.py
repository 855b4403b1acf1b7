"""Tasks that send each settled request's trace to the operator's OTLP endpoint, with retries."""

from __future__ import annotations

import asyncio
import logging
from functools import cache
from typing import Any

import redis
from celery import Task
from django.conf import settings

from inference.eventlog.connections import connect
from webapp.requests.models import Request
from webapp.traces import store
from webapp.traces.export.otlp import OtlpError, Unavailable, send, spans_of
from webapp.traces.export.sender import QUEUE, app
from webapp.traces.file.archive import TraceFileError

logger = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Limit of waiting traces: without a sender worker, Redis must not fill up."""
MAX_TRIES = 8
TIMEOUT_S = 10.0
_LONGEST_PAUSE_S = 600.0


def on_settled(request: Request, **_: Any) -> None:
    """Receiver of `settled`: queue the trace for sending."""
    if _client().llen(QUEUE) >= MAX_WAITING:
        logger.warning("%s is not sent: %d wait already; does a worker of queue otlp run?", request, MAX_WAITING)
        return
    app.send_task("traces.send", args=[request.pk])


@app.task(name="traces.send", bind=True, max_retries=MAX_TRIES - 1)
def send_trace(self: Task, request_id: str) -> None:  # type: ignore[type-arg]
    """Send a trace, with retries for some minutes while the endpoint is unavailable; then log the reason."""
    endpoint = settings.ENVIRONMENT.otlp
    if endpoint is None:
        return
    try:
        if frames := store.load_frames(request_id):  # else deleted meanwhile
            spans = spans_of(endpoint, frames, store.conversation_of(request_id))
            asyncio.run(send(endpoint, spans, TIMEOUT_S))
    except Unavailable as error:
        pause_s = error.retry_after_s or 2.0**self.request.retries
        raise self.retry(exc=error, countdown=min(pause_s, _LONGEST_PAUSE_S)) from error
    except (OtlpError, TraceFileError) as error:
        logger.error("%s was not sent: %s", request_id, error)


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url)
