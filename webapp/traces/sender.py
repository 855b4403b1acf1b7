"""The Celery app that sends each settled request's trace to the operator's OTLP endpoint: `celery -A
webapp.traces.sender worker -Q otlp`.

A worker and a queue of its own: an endpoint that hangs keeps no thread from those that make answers.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Any

import redis
from celery import Celery, Task
from celery.signals import task_prerun

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

from django.conf import settings
from django.db import close_old_connections

from inference.eventlog.broker import celery_url
from webapp.lifecycle.models import Request
from webapp.traces import store
from webapp.traces.archive import TraceFileError
from webapp.traces.otlp import OtlpError, Unavailable, send

logger = logging.getLogger(__name__)

QUEUE = "otlp"
MAX_WAITING = 10_000
"""Traces that wait for a worker: where none was started, Redis must not fill up."""
MAX_TRIES = 8
TIMEOUT_S = 10.0
_LONGEST_PAUSE_S = 600.0

app = Celery("otlp", broker=celery_url(settings.ENVIRONMENT.redis_url))
app.conf.update(
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    task_default_queue=QUEUE,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"socket_connect_timeout": 2, "max_retries": 1, "ack_emulation": False},
)


@task_prerun.connect
def _close_old_connections(**_: Any) -> None:
    close_old_connections()


def on_settled(request: Request, **_: Any) -> None:
    """Receiver of `settled`: queues it and is done."""
    if _client().llen(QUEUE) >= MAX_WAITING:
        logger.warning(
            "%s is not sent: %d traces wait already; is a worker of queue otlp running?", request, MAX_WAITING
        )
        return
    send_trace.delay(request.pk)


@app.task(name="traces.send", bind=True, max_retries=MAX_TRIES - 1)
def send_trace(self: Task, request_id: str) -> None:  # type: ignore[type-arg]
    """Tried again for some minutes while the endpoint cannot take it; then the log has the reason."""
    endpoint = settings.ENVIRONMENT.otlp
    frames = store.load_frames(request_id)
    if endpoint is None or not frames:  # deleted meanwhile
        return
    try:
        send(endpoint, frames, TIMEOUT_S)
    except Unavailable as error:
        pause_s = error.retry_after_s or 2.0**self.request.retries
        raise self.retry(exc=error, countdown=min(pause_s, _LONGEST_PAUSE_S)) from error
    except (OtlpError, TraceFileError) as error:
        logger.error("%s was not sent: %s", request_id, error)


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.ENVIRONMENT.redis_url)
