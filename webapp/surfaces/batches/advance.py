"""Advances a batch: reads its file, begins lines while the engine is idle, takes their answers, and ends it.

All state is in the database: any process may advance a batch, at any time and after any crash.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

import msgspec
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from webapp.ground.gateway.errors import ApiError
from webapp.identity.keys.keys import live_ids
from webapp.requests.models import Request
from webapp.surfaces.batches import files
from webapp.surfaces.batches.answering import Answering, end_waiting
from webapp.surfaces.batches.batches import save_lines
from webapp.surfaces.batches.beginning import begin_lines
from webapp.surfaces.batches.bounds import MAX_STORED_BYTES, stored_bytes
from webapp.surfaces.batches.models import Batch, Line, StoredFile
from webapp.surfaces.batches.reading import Fault, read_lines

logger = logging.getLogger(__name__)

_MOST_BEFORE = 8
"""Other users' batches that are looked at before one."""
_ENDS = {Batch.Status.CANCELLING: Batch.Status.CANCELLED}
_KEY_GONE = ApiError(401, "revoked_key", "The key of this batch was revoked or has expired.")


def unfinished() -> QuerySet[Batch]:
    """Batches that have not ended, the oldest first."""
    return Batch.objects.filter(ended_at=None).order_by("created_at", "id")


def in_turn(batch_id: str | None = None) -> list[str]:
    """The batches to look at, those of users with the fewest open requests first. So no user takes all places.

    batch_id: one of whose lines has ended; it comes after the oldest batch of each such user. None: all.
    """
    opened = Request.objects.filter(finished_at=None, batch_id__isnull=False)
    num_open = Counter(opened.values_list("user_id", flat=True))
    rows = sorted(unfinished().values_list("pk", "user_id"), key=lambda row: num_open[row[1]])
    if batch_id is None:
        return [pk for pk, _ in rows]
    own = next((num_open[user_id] for pk, user_id in rows if pk == batch_id), 0)
    first = {user_id: pk for pk, user_id in reversed(rows) if num_open[user_id] < own}
    return [*list(reversed(first.values()))[:_MOST_BEFORE], batch_id]


def advance(batch_ids: Iterable[str]) -> None:
    """Take each batch as far as it can go now. An exception in one does not affect the next."""
    for batch_id in batch_ids:
        try:
            _advance(batch_id)
        except Exception:
            logger.exception("%s could not be looked at", batch_id)


def take_answers(batch_id: str) -> None:
    """Take the answers that are there, so that their places are free."""
    batch = _find(batch_id)
    if batch is not None:
        Answering(batch).take()


def _find(batch_id: str) -> Batch | None:
    return unfinished().filter(pk=batch_id).select_related("key", "user").first()


def _advance(batch_id: str) -> None:
    batch = _find(batch_id)
    if batch is None:
        return
    if batch.status == Batch.Status.VALIDATING and not _validate(batch):
        return
    Answering(batch).take()
    _end_early(batch)
    begin_lines(batch)
    _finish(batch)


def _validate(batch: Batch) -> bool:
    """Read the file of the batch. Return whether it has lines now."""
    file = StoredFile.objects.filter(pk=batch.input_file, user_id=batch.user_id).first()
    found = read_lines("" if file is None else file.content, batch.endpoint)
    faults = found.faults
    if file is None:
        faults = [Fault("input_file_deleted", "The file of the batch was deleted before it was read.")]
    elif not faults and stored_bytes(batch.user_id) + file.num_bytes > MAX_STORED_BYTES:
        faults = [Fault("storage_full", "Your files and batches would take too much room. Delete some first.")]
    try:
        with transaction.atomic():
            if not _is_validating(batch):
                return False
            if faults:
                _fail(batch, faults)
            else:
                save_lines(batch, found.lines)
    except IntegrityError:
        return False  # another process was quicker
    return not faults


def _is_validating(batch: Batch) -> bool:
    return Batch.objects.select_for_update().filter(pk=batch.pk, status=Batch.Status.VALIDATING).exists()


def _fail(batch: Batch, faults: list[Fault]) -> None:
    batch.status, batch.ended_at = Batch.Status.FAILED, timezone.now()
    batch.errors = msgspec.to_builtins(faults)
    batch.save(update_fields=["status", "ended_at", "errors"])


def _end_early(batch: Batch) -> None:
    """End the lines that may not begin any more."""
    if batch.status == Batch.Status.CANCELLING:
        end_waiting(batch, Line.Status.CANCELED)
    elif timezone.now() > batch.expires_at:
        end_waiting(batch, Line.Status.EXPIRED)
    elif not batch.is_of_sign_in and batch.key_id not in live_ids([] if batch.key_id is None else [batch.key_id]):
        end_waiting(batch, Line.Status.ERRORED, _KEY_GONE)


def _finish(batch: Batch) -> None:
    """End the batch where all its lines have ended, with its result files."""
    going = [Line.Status.WAITING, Line.Status.OPEN]
    if batch.lines.filter(status__in=going).exists():
        return
    now = timezone.now()
    Batch.objects.filter(pk=batch.pk, status=Batch.Status.IN_PROGRESS).update(
        status=Batch.Status.FINALIZING, finalizing_at=now
    )
    with transaction.atomic():
        locked = Batch.objects.select_for_update().filter(pk=batch.pk, ended_at=None).first()
        if locked is None:
            return
        has_expired = locked.lines.filter(status=Line.Status.EXPIRED).exists()
        usual = Batch.Status.EXPIRED if has_expired else Batch.Status.COMPLETED
        locked.status = _ENDS.get(Batch.Status(locked.status), usual)
        locked.ended_at = now
        locked.save(update_fields=["status", "ended_at"])
        files.save_results(locked)
