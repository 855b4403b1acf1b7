"""Requests that an earlier run left open: their log was in that run's Redis, so nothing can finish them any more."""

from __future__ import annotations

from celery import Celery
from django.conf import settings

from inference.eventlog.broker import celery_url
from webapp.lifecycle.models import Request

_FAILURE = {
    "stage": "request",
    "code": "service_stopped",
    "message": "Sightglass was stopped before the answer was complete. Send the message again.",
}


def settle_leftovers(redis_url: str) -> int:
    """Ask for each to be settled as failed; returns how many there are."""
    if settings.ENVIRONMENT.database_url is not None:
        # Only the data folder's own database is ours alone (by its lock): in another, open requests may be those of
        # instances that run. The watchdog finds the ones on which nobody works.
        return 0
    request_ids = list(Request.objects.filter(finished_at=None).values_list("pk", flat=True))
    with Celery("supervisor", broker=celery_url(redis_url), set_as_current=False) as app:
        for request_id in request_ids:
            app.send_task("lifecycle.settle", args=[request_id], kwargs={"failure": _FAILURE}, queue="settle")
    return len(request_ids)
