"""The site's Celery app: the tasks of a request. `celery -A webapp worker -Q prepare,tools,attachments,settle`."""

from __future__ import annotations

import os
import sys
from typing import Any

from celery import Celery
from celery.signals import task_prerun, worker_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

from django.conf import settings
from django.db import close_old_connections
from django.utils.module_loading import import_string

from inference.protocol.preparing import prepare_structs
from inference.queue.app import make_app, set_up_log, set_up_worker

app = make_app(
    Celery,
    "webapp",
    settings.ENVIRONMENT.redis_url,
    "settle",
    routes={
        "lifecycle.prepare": "prepare",
        "lifecycle.call": "tools",
        "mcpclient.read": "tools",
        "attachments.read": "attachments",
    },
    fails_fast=True,
    is_of_site=True,
)
# Celery itself closes database connections before and after each task, or never.
app.conf.update(CELERY_DB_REUSE_MAX=sys.maxsize)
set_up_log(settings.ENVIRONMENT.log_format)
set_up_worker()
app.autodiscover_tasks(
    [
        "webapp.content.attachments",
        "webapp.lifecycle",
        "webapp.tools.mcpclient",
        "webapp.surfaces.checks",
        "webapp.surfaces.chat",
        "webapp.surfaces.learn",
        "webapp.surfaces.runs",
        "webapp.surfaces.batches",
        "webapp.operations.privacy",
        "webapp.usage.repricing",
    ]
)


@worker_init.connect
def prepare(**_: Any) -> None:
    """Load what the tasks would load in their threads."""
    import_string(settings.BATCH_FORMS)
    prepare_structs()


@task_prerun.connect
def _close_old_connections(**_: Any) -> None:
    close_old_connections()
