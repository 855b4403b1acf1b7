"""The Celery app that sends traces and metrics to the operator's OTLP endpoint.

It runs as `celery -A webapp.traces.export.sender worker -Q otlp`.

It has its own worker and queue, so that an endpoint that hangs takes no thread from the lifecycle.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import task_prerun

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

from django.conf import settings
from django.db import close_old_connections

from inference.queue.app import make_app, set_up_log

QUEUE = "otlp"

app = make_app(
    Celery, "otlp", settings.ENVIRONMENT.redis_url, QUEUE, fails_fast=True, is_of_site=True, is_current=False
)
set_up_log(settings.ENVIRONMENT.log_format)
app.autodiscover_tasks(["webapp.traces", "webapp.usage.metrics"])


@task_prerun.connect
def _close_old_connections(**_: Any) -> None:
    close_old_connections()
