"""A thread of every lifecycle worker that looks for findings and sends alerts.

It has a thread of its own: a receiver that answers slowly must not hold the tasks of requests.
"""

from __future__ import annotations

import logging
import time

from django.db import close_old_connections
from django.utils import timezone

from webapp.usage.alerts.check import check
from webapp.usage.alerts.deliver import send_due

logger = logging.getLogger(__name__)

_PAUSE_S = 10.0
_CHECK_EVERY_S = 300.0


def keep_watch() -> None:
    """Look and send in a loop; an exception does not end the loop."""
    next_check = time.monotonic()
    while True:
        time.sleep(_PAUSE_S)
        try:
            close_old_connections()
            if time.monotonic() >= next_check:
                next_check = time.monotonic() + _CHECK_EVERY_S
                check(timezone.now())
            send_due()
        except Exception:
            logger.exception("alerts could not be looked at")
