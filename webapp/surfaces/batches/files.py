"""A user's files: what was sent, and the results of batches, which their lines hold. Deletion is real."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import QuerySet, Sum
from django.db.models.functions import Substr
from django.utils import timezone

from webapp.identity.keys.models import ApiKey
from webapp.lifecycle.admission import lock_user
from webapp.lifecycle.stream.frames import read as _read
from webapp.requests.delivery import Key, Once, claim, once
from webapp.surfaces.batches.bounds import FILE_KEPT, add_stored, check_files, check_room
from webapp.surfaces.batches.form import form_of
from webapp.surfaces.batches.models import Batch, Line, StoredFile

AT_ONCE = 16
"""Lines that are read at once: an answer may have a megabyte."""
PIECE_CHARS = 1 << 20
"""Characters of a file that are read at once."""
_OUTPUT = (Line.Status.SUCCEEDED,)
_ERRORS = (Line.Status.ERRORED, Line.Status.CANCELED, Line.Status.EXPIRED)


def save(file: StoredFile, key: Key | None) -> Once[StoredFile]:
    """Save what a user sent. Raises ApiError, KeyReused, NotBegun."""

    def work() -> StoredFile:
        with transaction.atomic():
            lock_user(file.user_id)
            claim(key, [file.pk])
            check_files(file.user_id)
            check_room(file.user_id, file.num_bytes)
            file.save(force_insert=True)
        return file

    return once(key, work, lambda ids: StoredFile.objects.defer("content").filter(pk=ids[0]).first())


def files_of(user_id: int, key: ApiKey | None) -> QuerySet[StoredFile]:
    """The user's files. A key that is limited to some models sees those that it made itself."""
    rows = StoredFile.objects.filter(user_id=user_id).defer("content")
    return rows.filter(key=key) if key is not None and key.models else rows


async def pieces_of(file: StoredFile) -> AsyncGenerator[bytes]:
    """The file's content, piece by piece. Each is read when the one before it is taken."""
    if file.batch_id is not None:
        async for piece in _answers(_lines(file)):
            yield piece
        return
    start = 1
    while part := await _read(partial(_part, file, start)):
        yield part.encode()
        start += PIECE_CHARS


def _part(file: StoredFile, start: int) -> str | None:
    """Some characters of a sent file; None: the file was deleted meanwhile."""
    part = Substr("content", start, PIECE_CHARS)
    return StoredFile.objects.filter(pk=file.pk).values_list(part, flat=True).first()


def results_of(batch: Batch) -> AsyncGenerator[bytes]:
    """The results of all lines, in the order of the lines, piece by piece."""
    return _answers(batch.lines.exclude(answer=""))


def part_of(batch: Batch, part: StoredFile.Part) -> AsyncGenerator[bytes]:
    """The results of those lines that have ended with an answer, or without one."""
    statuses = _OUTPUT if part == StoredFile.Part.OUTPUT else _ERRORS
    return _answers(batch.lines.filter(status__in=statuses).exclude(answer=""))


async def _answers(lines: QuerySet[Line]) -> AsyncGenerator[bytes]:
    ordered = lines.order_by("index").values_list("index", "answer")

    def few(last: int) -> list[tuple[int, str]]:
        return list(ordered.filter(index__gt=last)[:AT_ONCE])

    last = -1
    while found := await _read(partial(few, last)):
        yield b"".join(answer.encode() + b"\n" for _, answer in found)
        last = found[-1][0]


def delete(file: StoredFile) -> None:
    """Delete a file with its content."""
    with transaction.atomic():
        if file.batch_id is not None:
            num_bytes = _lines(file).aggregate(total=Sum("num_bytes", default=0))["total"]
            _lines(file).update(answer="", error="", num_bytes=0)
            add_stored(file.batch_id, -num_bytes)
        file.delete()


def delete_expired() -> None:
    """Delete files whose time is over, and batches that ended so long ago that no file of theirs is left."""
    Batch.objects.filter(ended_at__lt=timezone.now() - FILE_KEPT).delete()
    for file in StoredFile.objects.filter(expires_at__lt=timezone.now()).defer("content"):
        delete(file)


def save_results(batch: Batch) -> None:
    """Make the result files of a batch whose lines have all ended, in a transaction. Some families have none."""
    if not form_of(batch.family).has_files:
        return
    for part, statuses in ((StoredFile.Part.OUTPUT, _OUTPUT), (StoredFile.Part.ERRORS, _ERRORS)):
        lines = batch.lines.filter(status__in=statuses)
        if lines.exists():
            # Each answer ends in the file with a line feed, which is not stored.
            total = lines.aggregate(total=Sum("num_bytes"))["total"] + lines.count()
            StoredFile.objects.create(
                user_id=batch.user_id,
                key_id=batch.key_id,
                name=f"{batch.pk}_{part}.jsonl",
                part=part,
                batch=batch,
                num_bytes=total,
                expires_at=expiry(batch.output_expires_s),
            )


def expiry(after_s: int | None) -> datetime:
    """The moment at which a file of now is deleted."""
    return timezone.now() + (FILE_KEPT if after_s is None else timedelta(seconds=after_s))


def _lines(file: StoredFile) -> QuerySet[Line]:
    statuses = _OUTPUT if file.part == StoredFile.Part.OUTPUT else _ERRORS
    return Line.objects.filter(batch_id=file.batch_id, status__in=statuses).exclude(answer="")
