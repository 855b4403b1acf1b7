"""Erases in a thread of every lifecycle worker. The rows are its queue: a killed process loses none."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from threading import Thread
from typing import Any

import redis
from celery.signals import worker_ready
from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone
from redis.exceptions import LockNotOwnedError

from inference.eventlog.connections import connect
from inference.eventlog.keys import PREFIX
from webapp.operations.privacy.erase import advance, unfinished

logger = logging.getLogger(__name__)

_PAUSE_S = 3
CLAIM_S = 120
"""An erasure whose process was killed goes on after this time. A longer search may be joined by a second process: each
step may be repeated, so that costs time alone."""


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
    """Advance each unfinished erasure that no other process has; an exception in one does not affect the others."""
    for user_id in list(unfinished().values_list("pk", flat=True)):
        try:
            with _claim(user_id) as is_mine:
                if is_mine:
                    advance(user_id, timezone.now())
        except Exception:
            logger.exception("the erasure of account %d could not go on", user_id)


@contextmanager
def _claim(user_id: int) -> Iterator[bool]:
    """Keep other processes from this erasure; False: another has it. Raises RedisError."""
    lock = _client().lock(f"{PREFIX}erasure:{user_id}", timeout=CLAIM_S)
    is_mine = lock.acquire(blocking=False)
    try:
        yield is_mine
    finally:
        if is_mine:
            with suppress(LockNotOwnedError):
                lock.release()


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url)
