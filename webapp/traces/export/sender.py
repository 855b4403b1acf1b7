"""The Celery app that sends traces to the operator's OTLP endpoint.

It runs as `celery -A webapp.traces.export.sender worker -Q otlp`.

A worker and a queue of its own: an endpoint that hangs keeps no thread from those that make answers.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import task_prerun

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

from django.conf import settings
from django.db import close_old_connections

from inference.eventlog.broker import celery_url

QUEUE = "otlp"

app = Celery("otlp", broker=celery_url(settings.ENVIRONMENT.redis_url), set_as_current=False)
app.conf.update(
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    task_default_queue=QUEUE,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"socket_connect_timeout": 2, "max_retries": 1, "ack_emulation": False},
)
app.autodiscover_tasks(["webapp.traces"])


@task_prerun.connect
def _close_old_connections(**_: Any) -> None:
    close_old_connections()
