"""The most that batches and files of one user may take."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F, Sum

from webapp.ground.gateway.errors import ApiError
from webapp.surfaces.batches.models import Batch, StoredFile

MAX_LINES = 10_000
MAX_BATCH_BYTES = 32 << 20
"""A file, or a body with the lines of a batch, as it is sent."""
MAX_FILES = 1_000
MAX_OPEN_BATCHES = 100
"""Batches of one user that have not ended."""
MAX_STORED_BYTES = 256 << 20
"""Files, lines and answers of one user."""
WINDOW = timedelta(hours=24)
"""Time in which a batch's lines may begin."""
FILE_KEPT = timedelta(days=30)
"""Time for which a file is kept that names no other."""


def stored_bytes(user_id: int) -> int:
    """Bytes of all that the user has stored. A batch's results count as its lines."""
    files = StoredFile.objects.filter(user_id=user_id, batch=None).aggregate(total=Sum("num_bytes", default=0))
    batches = Batch.objects.filter(user_id=user_id).aggregate(total=Sum("num_stored_bytes", default=0))
    return int(files["total"] + batches["total"])


def add_stored(batch_id: str, num_bytes: int) -> None:
    """Count bytes that the lines of a batch have more, or fewer, in the transaction that changes them."""
    Batch.objects.filter(pk=batch_id).update(num_stored_bytes=F("num_stored_bytes") + num_bytes)


def check_room(user_id: int, num_bytes: int) -> None:
    """Raises ApiError where so much more does not fit."""
    if stored_bytes(user_id) + num_bytes > MAX_STORED_BYTES:
        message = f"Your files and batches would have more than {MAX_STORED_BYTES >> 20} MiB. Delete some first."
        raise ApiError(413, "storage_full", message)


def check_files(user_id: int) -> None:
    """Raises ApiError."""
    if StoredFile.objects.filter(user_id=user_id, batch=None).count() >= MAX_FILES:
        raise ApiError(429, "too_many_files", f"You have {MAX_FILES:,} files, the limit. Delete some first.")


def check_batches(user_id: int) -> None:
    """Raises ApiError."""
    if Batch.objects.filter(user_id=user_id, ended_at=None).count() >= MAX_OPEN_BATCHES:
        message = f"You have {MAX_OPEN_BATCHES} batches that have not ended, the limit. Wait for one, or cancel one."
        raise ApiError(429, "too_many_batches", message, retry_after_s=60)
