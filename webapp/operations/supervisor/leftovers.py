"""Ends requests that no process can finish: at a stop, after a worker ends, and at the start after a crash."""

from __future__ import annotations

import msgspec
from celery import Celery
from django.conf import settings
from django.db.models import QuerySet

from inference.protocol.failures import Failure
from inference.queue.app import make_app
from webapp.requests.models import Request


def is_ours_alone() -> bool:
    """True for the data folder's own database, which its lock protects.

    In another database, open requests may belong to running instances. There the watchdog ends the abandoned ones.
    """
    return settings.ENVIRONMENT.database_url is None


def num_open() -> int:
    return _open().count()


def end_leftovers(redis_url: str, failure: Failure) -> int:
    """Queue the end of each open request with this failure; return their number."""
    request_ids = list(_open().values_list("pk", flat=True)) if is_ours_alone() else []
    if not request_ids:
        return 0
    with make_app(Celery, "supervisor", redis_url, "settle", is_current=False) as app:
        for request_id in request_ids:
            app.send_task("lifecycle.end", args=[request_id], kwargs={"failure": msgspec.to_builtins(failure)})
    return len(request_ids)


def _open() -> QuerySet[Request]:
    return Request.objects.filter(finished_at=None)
