"""Operations on attached files. Knows nothing of how they are read."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from webapp.content.attachments import models, tasks
from webapp.content.attachments.extraction.kinds import kind_of
from webapp.content.attachments.extraction.unreadable import Unreadable
from webapp.content.attachments.pictures import is_picture, picture_of
from webapp.content.attachments.store import (
    MAX_FILE_BYTES,
    NoRoom,
    create,
    create_picture,
    is_stale,
    of_user,
    picture_bytes,
    picture_row,
)
from webapp.ground.gateway.body import Upload
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Query, Result
from webapp.models.registry.offered import chosen, has_vision, no_vision
from webapp.requests import services

_MAX_PASSAGES = 60
_STATUS = {"too_many": 409, "too_many_requests": 429}
_RETRY_S = {"too_many": 0, "too_many_requests": 2}


class AttachmentQuery(Query):
    """The model whose tokens are counted."""

    model: str | None = None
    """Null: the default."""


class Attachment(Result):
    """An attached file."""

    id: str
    name: str
    media_type: str
    """By its content; empty until the file is read."""
    num_bytes: int
    sha256: str
    status: Literal["reading", "ready", "refused"]
    reason: str
    """Why it was refused."""
    percent: int
    """The share that is read."""
    model: str
    """The model whose tokens are counted."""
    num_tokens: int | None
    """Tokens of the whole text; null: not known."""
    num_passages: int
    width: int | None
    """Of a picture, in pixels. Null: it is none."""
    height: int | None
    is_flagged: bool
    """The safety policy flagged its text."""
    flagged_as: list[str]
    """The categories for which it did; empty for an older file."""
    conversation_id: str | None
    """Null: no message has carried it yet. Such a file is deleted after a day."""
    created_at: datetime


class AttachmentList(Result):
    """The user's files, the newest first."""

    attachments: list[Attachment]


class PassagesQuery(Query):
    """The passages to show."""

    numbers: str
    """Numbers with commas between them, at most 60."""


class PassageText(Result):
    """A passage of a file."""

    number: int
    """From 1."""
    text: str


class PassageList(Result):
    """Passages in the file's order."""

    passages: list[PassageText]


def list_attachments(request: HttpRequest) -> AttachmentList:
    """List the user's files."""
    rows = of_user(user_id(request)).order_by("-created_at", "-pk")
    return AttachmentList(attachments=[_shown(row) for row in rows])


@answers(201)
def create_attachment(request: HttpRequest, query: AttachmentQuery, file: Upload) -> Attachment:
    """Attach a file: text, Markdown, code, CSV, PDF, HTML or DOCX of 20 MiB at most. It is read after this call.

    A model with vision takes PNG, JPEG, WebP and GIF of 5 MiB at most, which are ready at once.

    404 `unknown_model`; 409 `too_many`; 413 `too_large`; 415 `unreadable`; 429 `too_many_requests` while four files are
    being read.
    """
    if (file.size or 0) > MAX_FILE_BYTES:
        message = f"The file has more than {MAX_FILE_BYTES >> 20} MiB, the limit. Attach a part of it."
        raise ApiError(413, "too_large", message, "file")
    data = file.read()
    try:
        found = _created(user_id(request), file.name or "", data, chosen(query.model))
    except Unreadable as refused:
        raise ApiError(415, "unreadable", str(refused), "file") from None
    except NoRoom as full:
        raise ApiError(_STATUS[full.code], full.code, str(full), retry_after_s=_RETRY_S[full.code]) from None
    if found.image is not None:
        return _shown(found)
    tasks.queue(found.pk)
    # The message with this file is compared with its passages in this process.
    services.background_pool().submit(services.minilm)
    return _shown(found)


def _created(owner: int, name: str, data: bytes, model: str) -> models.Attachment:
    """Raises NoRoom, Unreadable."""
    if not is_picture(name, data):
        kind_of(name, data)
        return create(owner, name, data, model)
    if not has_vision(model):
        raise Unreadable(no_vision(model))
    return create_picture(owner, name, picture_of(name, data), model)


@answers(200)
def show_picture(request: HttpRequest, digest: str) -> HttpResponse:
    """The bytes of the user's own picture, by their SHA-256 as the prompt's segment names it."""
    owner = user_id(request)
    row, data = picture_row(owner, digest), picture_bytes(owner, digest)
    if row is None or data is None:
        raise not_found("picture")
    response = HttpResponse(data, content_type=row.media_type)
    response["Content-Disposition"] = f'attachment; filename="picture.{row.media_type.removeprefix("image/")}"'
    # A browser that opens it by itself runs nothing of it.
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


def show_attachment(request: HttpRequest, attachment_id: str) -> Attachment:
    """Show a file, and how far it is read."""
    found = _find(request, attachment_id)
    if is_stale(found, timezone.now()):
        tasks.queue(found.pk)
    return _shown(found)


def delete_attachment(request: HttpRequest, attachment_id: str) -> None:
    """Delete a file with its passages. Later prompts lack it; saved traces keep what their prompts had of it."""
    _find(request, attachment_id).delete()


def list_passages(request: HttpRequest, attachment_id: str, query: PassagesQuery) -> PassageList:
    """Show passages of a file."""
    found = _find(request, attachment_id)
    try:
        numbers = [int(each) for each in query.numbers.split(",")]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= _MAX_PASSAGES or not all(0 < each < 1 << 31 for each in numbers):
        message = f"numbers must be 1 to {_MAX_PASSAGES} numbers of passages with commas between them."
        raise ApiError(400, "invalid", message, "numbers")
    rows = found.passages.filter(number__in=numbers).values_list("number", "start", "end")
    return PassageList(passages=[PassageText(number, found.text[start:end]) for number, start, end in rows])


def _find(request: HttpRequest, attachment_id: str) -> models.Attachment:
    found = of_user(user_id(request)).filter(pk=attachment_id).first()
    if found is None:
        raise not_found("file")
    return found


def _shown(row: models.Attachment) -> Attachment:
    status: Literal["reading", "ready", "refused"] = row.status  # type: ignore[assignment]
    return Attachment(
        id=row.pk,
        name=row.name,
        media_type=row.media_type,
        num_bytes=row.num_bytes,
        sha256=row.sha256,
        status=status,
        reason=row.reason,
        percent=row.percent,
        model=row.model,
        num_tokens=row.num_tokens,
        num_passages=row.num_passages,
        width=row.width,
        height=row.height,
        is_flagged=row.is_flagged,
        flagged_as=row.flagged_as,
        conversation_id=row.conversation_id,
        created_at=row.created_at,
    )
