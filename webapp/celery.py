"""The site's Celery app: the story of a request as tasks. `celery -A webapp worker -Q prepare,settle`."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

from django.conf import settings

from inference.eventlog.broker import celery_url

app = Celery("webapp", broker=celery_url(settings.ENVIRONMENT.redis_url))
app.conf.update(
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    task_default_queue="settle",
    task_routes={"lifecycle.prepare": {"queue": "prepare"}, "inference.generate": {"queue": "generate"}},
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    # A request is refused in a second, not hung, when the broker is away.
    broker_transport_options={"socket_connect_timeout": 2, "max_retries": 1},
)
app.autodiscover_tasks(["webapp.lifecycle"])
