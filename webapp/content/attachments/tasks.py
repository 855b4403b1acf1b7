"""The Celery task that reads files, a thin entry into `Reading`, and its place on the queue."""

from __future__ import annotations

import logging
import threading
from functools import cache

from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from webapp.celery import app
from webapp.content.attachments.models import Attachment
from webapp.content.attachments.reading import Reading
from webapp.content.attachments.store import take_turn

logger = logging.getLogger(__name__)

_MOST_AT_ONCE = 2
"""Files that a worker reads at once: its other threads stay free for requests."""
_AGAIN_S = 0.5


def queue(attachment_id: str) -> None:
    """Have a file read, or read again. A broker that is away is no fault: who asks for the file queues it again."""
    attempt = take_turn(attachment_id)
    if attempt is None:
        return
    try:
        read.delay(attachment_id, attempt)
    except (OperationalError, RedisError, OSError):
        logger.warning("%s could not be queued", attachment_id)


@app.task(name="attachments.read")
def read(attachment_id: str, attempt: int) -> None:
    """Read a file, once this worker has a place for it."""
    if not _places().acquire(blocking=False):
        waiting = Attachment.objects.filter(pk=attachment_id, attempt=attempt)
        if waiting.exists():
            read.apply_async((attachment_id, attempt), countdown=_AGAIN_S)
        return
    try:
        Reading(attachment_id, attempt).run()
    finally:
        _places().release()


@cache
def _places() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(_MOST_AT_ONCE)
