"""Advances batches as each request settles, and every few seconds, to go on after a process that died."""

from __future__ import annotations

import logging
import time
from threading import Thread
from typing import Any

from celery.signals import worker_ready
from django.db import close_old_connections

from webapp.celery import app
from webapp.requests.models import Request
from webapp.surfaces.batches import files
from webapp.surfaces.batches.advance import advance, in_turn, take_answers
from webapp.surfaces.batches.batches import nudge

logger = logging.getLogger(__name__)

_PAUSE_S = 3
_CLEAN_EVERY = 1200
"""Pauses between two looks for expired files: an hour."""


def on_settled(request: Request, **_: Any) -> None:
    """Receiver of `settled`: let the batch of the request go on."""
    if request.batch_id is not None:
        nudge(request.batch_id)


@app.task(name="batches.advance")
def advance_task(batch_id: str) -> None:
    take_answers(batch_id)
    advance(in_turn(batch_id))


@worker_ready.connect
def _keep_going(**_: Any) -> None:
    Thread(target=keep_going, name="batches", daemon=True).start()


def keep_going() -> None:
    """Advance unfinished batches in a loop, and delete expired files; an exception does not end it."""
    num_pauses = 0
    while True:
        time.sleep(_PAUSE_S)
        try:
            close_old_connections()
            advance(in_turn())
            if num_pauses % _CLEAN_EVERY == 0:
                files.delete_expired()
        except Exception:
            logger.exception("the batches could not be looked at")
        num_pauses += 1
