"""Advances sets as each run settles, and every few seconds, to resume after a process that died."""

from __future__ import annotations

import logging
import time
from threading import Thread
from typing import Any

from celery.signals import worker_ready
from django.db import close_old_connections

from webapp.celery import app
from webapp.requests.models import Request
from webapp.surfaces.runs.advance import advance, unfinished
from webapp.surfaces.runs.models import Run

logger = logging.getLogger(__name__)

_PAUSE_S = 3


def on_settled(request: Request, **_: Any) -> None:
    """Receiver of `settled`: queue an advance of the run's set."""
    run = Run.objects.filter(request_id=request.pk).first()
    if run is not None:
        app.send_task("reruns.advance", args=[run.rerun_id])


@app.task(name="reruns.advance")
def advance_task(rerun_id: str) -> None:
    advance([rerun_id])


@worker_ready.connect
def _keep_going(**_: Any) -> None:
    Thread(target=keep_going, name="reruns", daemon=True).start()


def keep_going() -> None:
    """Advance unfinished sets in a loop; an exception does not end it."""
    while True:
        time.sleep(_PAUSE_S)
        try:
            close_old_connections()
            if waiting := list(unfinished().values_list("pk", flat=True)):
                advance(waiting)
        except Exception:
            logger.exception("the sets of runs could not be looked at")
