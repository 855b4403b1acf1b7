"""Erases in a thread of every lifecycle worker. The rows are its queue: a killed process loses none."""

from __future__ import annotations

import logging
import time
from threading import Thread
from typing import Any

from celery.signals import worker_ready
from django.db import close_old_connections
from django.utils import timezone

from webapp.privacy.erase import advance, unfinished

logger = logging.getLogger(__name__)

_PAUSE_S = 3


@worker_ready.connect
def _keep_erasing(**_: Any) -> None:
    Thread(target=keep_erasing, name="erasures", daemon=True).start()


def keep_erasing() -> None:
    """Advance unfinished erasures in a loop; an exception does not end it."""
    while True:
        time.sleep(_PAUSE_S)
        try:
            close_old_connections()
            advance_all()
        except Exception:
            logger.exception("the erasures could not be looked at")


def advance_all() -> None:
    """Advance each unfinished erasure; an exception in one does not affect the others."""
    for user_id in list(unfinished().values_list("pk", flat=True)):
        try:
            advance(user_id, timezone.now())
        except Exception:
            logger.exception("the erasure of account %d could not go on", user_id)
