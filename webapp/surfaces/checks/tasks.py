"""Carries checks of models on in a thread of every lifecycle worker. The rows are its queue."""

from __future__ import annotations

import logging
import time
from threading import Thread
from typing import Any

from celery.signals import worker_ready
from django.db import close_old_connections

from webapp.surfaces.checks.check import advance_all

logger = logging.getLogger(__name__)

_PAUSE_S = 1


@worker_ready.connect
def _keep_checking(**_: Any) -> None:
    Thread(target=keep_checking, name="checks", daemon=True).start()


def keep_checking() -> None:
    """Carry on the checks in a loop; an exception does not end it."""
    while True:
        time.sleep(_PAUSE_S)
        try:
            close_old_connections()
            advance_all()
        except Exception:
            logger.exception("the checks of models could not be looked at")
