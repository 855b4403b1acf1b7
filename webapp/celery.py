"""The site's Celery app: the story of a request as tasks. `celery -A webapp worker -Q prepare,settle`."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from celery import Celery
from celery.signals import task_prerun, worker_shutdown

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

from django.conf import settings
from django.db import close_old_connections

from inference.eventlog.broker import celery_url
from inference.eventlog.process_end import end_process

app = Celery("webapp", broker=celery_url(settings.ENVIRONMENT.redis_url))
app.conf.update(
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    task_default_queue="settle",
    task_routes={"lifecycle.prepare": {"queue": "prepare"}, "inference.generate": {"queue": "generate"}},
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    # A request is refused in a second, not hung, when the broker is away. A message that is lost with its worker is
    # found by the watchdog, not by Celery.
    broker_transport_options={"socket_connect_timeout": 2, "max_retries": 1, "ack_emulation": False},
    # Celery's own way with database connections is to close them before and after each task, or never.
    CELERY_DB_REUSE_MAX=sys.maxsize,
)
# A line for each task that came, written before it begins; the one that tells how long it took stays.
logging.getLogger("celery.worker.strategy").setLevel(logging.WARNING)
worker_shutdown.connect(end_process)
app.autodiscover_tasks(["webapp.lifecycle", "webapp.learn", "webapp.reruns"])


@task_prerun.connect
def _close_old_connections(**_: Any) -> None:
    close_old_connections()
