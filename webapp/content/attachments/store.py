"""The files of a user: their number and size, their end. Knows nothing of HTTP."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from webapp.content.attachments.models import MAX_NAME_CHARS, Attachment, Content
from webapp.content.attachments.pictures import Picture

MAX_FILE_BYTES = 20 << 20
MAX_USER_BYTES = 200 << 20
"""Limit on the bytes of all files of one user, as they were sent."""
MAX_FILES = 500
"""Limit on the files of one user."""
MAX_CALLED_BYTES = 100 << 20
"""Limit on the bytes of the pictures that calls of one user's programs brought."""
MAX_CALLED = 500
"""Limit on their number."""
MAX_READING = 4
"""Files of one user that wait to be read, or are being read."""
_CALL_RUNS = timedelta(minutes=15)
"""For so long a call may need its pictures."""
UNSENT_FOR = timedelta(days=1)
"""A file that no message carries is deleted after this time."""
_STALE = timedelta(seconds=60)
"""A reading gives a sign at least so often. One that gives none has lost its worker."""


class NoRoom(Exception):
    """The user may have no further file; the exception's text says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def create(user_id: int, name: str, data: bytes, model: str) -> Attachment:
    """Save a file that is to be read. Raises NoRoom."""
    found = Attachment(
        user_id=user_id,
        name=clean_name(name),
        num_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        model=model,
    )
    with transaction.atomic():
        _lock_user(user_id)
        _check_room(user_id, len(data))
        found.save()
        Content.objects.create(attachment=found, data=data)
    return found


def create_picture(user_id: int, name: str, picture: Picture, model: str) -> Attachment:
    """Save a picture, which needs no reading. Raises NoRoom."""
    found = _row(user_id, clean_name(name), picture, model)
    with transaction.atomic():
        _lock_user(user_id)
        _check_room(user_id, len(picture.data))
        found.save()
        Content.objects.create(attachment=found, data=picture.data)
    return found


def keep_called(user_id: int, pictures: Sequence[Picture], model: str) -> None:
    """Keep the pictures of a call for a day. The oldest such ones make room, but not those of the last minutes.

    Raises NoRoom. Called in the transaction that saves the call's requests.
    """
    now = timezone.now()
    _lock_user(user_id)
    own = Attachment.objects.filter(user_id=user_id, is_of_call=True)
    for picture in pictures:
        if own.filter(sha256=picture.image.sha256).update(created_at=now):
            continue
        _make_room(own, picture.image.num_bytes, now)
        found = _row(user_id, "picture", picture, model)
        found.is_of_call = True
        found.save()
        Content.objects.create(attachment=found, data=picture.data)


def _make_room(own: QuerySet[Attachment], num_bytes: int, now: datetime) -> None:
    """Raises NoRoom."""
    taken, num = own.aggregate(taken=Sum("num_bytes"))["taken"] or 0, own.count()
    for each in own.filter(created_at__lt=now - _CALL_RUNS).order_by("created_at"):
        if taken + num_bytes <= MAX_CALLED_BYTES and num < MAX_CALLED:
            return
        taken, num = taken - each.num_bytes, num - 1
        each.delete()
    if taken + num_bytes > MAX_CALLED_BYTES or num >= MAX_CALLED:
        limit = f"{MAX_CALLED} pictures" if num >= MAX_CALLED else f"{MAX_CALLED_BYTES >> 20} MiB"
        message = f"The pictures of your last calls reach {limit}, the limit. Wait some minutes."
        raise NoRoom("too_many_requests", message)


def picture_bytes(user_id: int, sha256: str) -> bytes | None:
    """The bytes of the user's own picture; None: it is not kept, or it is another user's."""
    found = Content.objects.filter(
        attachment__user_id=user_id, attachment__sha256=sha256, attachment__width__isnull=False
    )
    data = found.values_list("data", flat=True).first()
    return None if data is None else bytes(data)


def picture_row(user_id: int, sha256: str) -> Attachment | None:
    """The row of the user's own picture."""
    return Attachment.objects.filter(user_id=user_id, sha256=sha256, width__isnull=False).first()


def _row(user_id: int, name: str, picture: Picture, model: str) -> Attachment:
    image = picture.image
    return Attachment(
        user_id=user_id,
        name=name,
        media_type=image.media_type,
        num_bytes=image.num_bytes,
        sha256=image.sha256,
        width=image.width,
        height=image.height,
        model=model,
        percent=100,
        status=Attachment.Status.READY,
    )


def clean_name(name: str) -> str:
    """The last part of a path, without control and formatting characters, which may show another name."""
    last = PurePosixPath(name.replace("\\", "/")).name
    shown = "".join(char for char in last if unicodedata.category(char)[0] != "C")
    stem, dot, ending = shown.rpartition(".")
    if len(shown) > MAX_NAME_CHARS and dot and len(ending) < 16:
        return f"{stem[: MAX_NAME_CHARS - len(ending) - 2]}….{ending}"
    return shown[:MAX_NAME_CHARS] or "file"


def _lock_user(user_id: int) -> None:
    """Block other transactions of the same user; on SQLite every writer holds the one write lock already."""
    if connection.features.has_select_for_update:
        get_user_model().objects.select_for_update(no_key=True).only("pk").get(pk=user_id)


def _check_room(user_id: int, num_bytes: int) -> None:
    own = Attachment.objects.filter(user_id=user_id, is_of_call=False)
    if own.filter(status=Attachment.Status.READING).count() >= MAX_READING:
        raise NoRoom("too_many_requests", f"{MAX_READING} files are being read. Wait for one of them.")
    if own.count() >= MAX_FILES:
        raise NoRoom("too_many", f"You have {MAX_FILES} files, the limit. Delete some, or chats with files.")
    taken = own.aggregate(taken=Sum("num_bytes"))["taken"] or 0
    if taken + num_bytes > MAX_USER_BYTES:
        message = f"Your files have {taken >> 20} of {MAX_USER_BYTES >> 20} MiB. Delete some, or chats with files."
        raise NoRoom("too_many", message)


def take_turn(attachment_id: str) -> int | None:
    """Begin another attempt to read a file, which ends the one before; None: it is read already, or gone."""
    unread = Attachment.objects.filter(pk=attachment_id, status=Attachment.Status.READING)
    if not unread.update(attempt=F("attempt") + 1, touched_at=timezone.now()):
        return None
    return unread.values_list("attempt", flat=True).first()


def is_stale(found: Attachment, now: datetime) -> bool:
    """True if the reading has lost its worker."""
    return found.status == Attachment.Status.READING and now - found.touched_at > _STALE


def of_user(user_id: int) -> QuerySet[Attachment]:
    """The user's files, without their texts and without the pictures of calls."""
    return Attachment.objects.filter(user_id=user_id, is_of_call=False).defer("text")


def clear_unsent(now: datetime) -> int:
    """Delete the files that no message carries; return their number."""
    old = Attachment.objects.filter(carried=None, created_at__lt=now - UNSENT_FOR)
    num = 0
    for found in old.only("pk"):
        found.delete()
        num += 1
    return num
