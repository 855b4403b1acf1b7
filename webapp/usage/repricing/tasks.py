"""The task that compares, and a thread that sees lost comparisons. A comparison takes one thread for seconds."""

from __future__ import annotations

import logging
import time
from threading import Thread
from typing import Any

from celery.signals import worker_ready

from webapp.celery import app
from webapp.usage.repricing import states
from webapp.usage.repricing.work import run

logger = logging.getLogger(__name__)

_PAUSE_S = 3


@app.task(name="repricing.run")
def run_task(work_id: str) -> None:
    run(work_id)


def queue(work_id: str) -> None:
    """Raises OperationalError."""
    app.send_task("repricing.run", args=[work_id])


@worker_ready.connect
def _keep_going(**_: Any) -> None:
    Thread(target=keep_going, name="repricing", daemon=True).start()


def keep_going() -> None:
    """Queue lost comparisons again in a loop; an exception does not end it."""
    while True:
        time.sleep(_PAUSE_S)
        try:
            queue_lost()
        except Exception:
            logger.exception("the comparisons could not be looked at")


def queue_lost() -> None:
    """Queue the comparisons again that no process works on. Raises RedisError, OperationalError."""
    for lost in states.revive():
        logger.warning("no process works on comparison %s; it is %s now", *lost)
        if lost.state == "waiting":
            queue(lost.work_id)
