"""`/v1/files`: send, list, show, read and delete."""

from __future__ import annotations

from typing import Literal

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from webapp.api.families.described import described
from webapp.api.openai.batches.lines import Result
from webapp.api.openai.batches.pages import Page, check_limit, not_listed
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.body import read_file, read_form, read_query
from webapp.ground.gateway.errors import ApiError, user_id
from webapp.ground.gateway.idempotency import REPLAYED, read_key
from webapp.identity.keys.middleware import key_of
from webapp.surfaces.batches import files
from webapp.surfaces.batches.batches import check_feature
from webapp.surfaces.batches.bounds import MAX_BATCH_BYTES
from webapp.surfaces.batches.models import StoredFile
from webapp.surfaces.batches.paging import rows_after

_MAX_NAME_CHARS = 255
_MOST_LISTED = 10_000
EXPIRY_S = (3600, 30 * 86400)
"""Shortest and longest time for which a client may have a file kept."""


class FileForm(msgspec.Struct):
    """The fields of a sent file beside itself."""

    purpose: str
    anchor: Literal["created_at"] | None = msgspec.field(name="expires_after[anchor]", default=None)
    seconds: int | None = msgspec.field(name="expires_after[seconds]", default=None)


class FilesQuery(msgspec.Struct):
    """Which files, and in which order."""

    after: str | None = None
    limit: int = _MOST_LISTED
    order: Literal["asc", "desc"] = "desc"
    purpose: str | None = None


class FileObject(msgspec.Struct):
    """A file as the client sees it."""

    id: str
    bytes: int
    created_at: int
    filename: str
    purpose: Literal["batch", "batch_output"]
    expires_at: int | None
    status: str = "processed"
    object: str = "file"


class Deleted(msgspec.Struct):
    id: str
    deleted: bool = True
    object: str = "file"


@described(FileObject, begins_work=True)
async def create_file(http: HttpRequest) -> HttpResponseBase:
    """Keep the file of a batch."""
    return await sync_to_async(_create)(http)


@described(Page[FileObject], query=FilesQuery)
async def list_files(http: HttpRequest) -> HttpResponseBase:
    """List the user's files."""
    return json_response(await sync_to_async(_page)(http, read_query(http, FilesQuery)))


@described(FileObject)
async def show_file(http: HttpRequest, file_id: str) -> HttpResponseBase:
    """Show a file, without its content."""
    return json_response(shown(await sync_to_async(find)(http, file_id)))


@described(Result, is_lines=True)
async def read_content(http: HttpRequest, file_id: str) -> HttpResponseBase:
    """Return the content of a file."""
    file = await sync_to_async(find)(http, file_id)
    return StreamingHttpResponse(files.pieces_of(file), content_type="application/x-jsonl")


@described(Deleted)
async def delete_file(http: HttpRequest, file_id: str) -> HttpResponseBase:
    """Delete a file with its content. A batch that has read it goes on."""
    await sync_to_async(lambda: files.delete(find(http, file_id)))()
    return json_response(Deleted(file_id))


def find(http: HttpRequest, file_id: str) -> StoredFile:
    """Return the user's own file. Raises ApiError, OutOfScope."""
    key = key_of(http)
    check_feature(key, only_reads=http.method == "GET")
    file = files.files_of(user_id(http), key).filter(pk=file_id[:100]).first()
    if file is None:
        raise ApiError(404, "not_found", f"No such File object: {file_id[:100]}", "id")
    return file


def shown(file: StoredFile) -> FileObject:
    ends = None if file.expires_at is None else int(file.expires_at.timestamp())
    purpose: Literal["batch", "batch_output"] = "batch" if file.batch_id is None else "batch_output"
    return FileObject(file.pk, file.num_bytes, int(file.created_at.timestamp()), file.name, purpose, ends)


def checked_expiry(seconds: int | None, field: str) -> int | None:
    """Raises ApiError."""
    least, most = EXPIRY_S
    if seconds is not None and not least <= seconds <= most:
        raise ApiError(400, "invalid", f"{field} must be from {least:,} to {most:,} seconds.", field)
    return seconds


def _create(http: HttpRequest) -> HttpResponseBase:
    check_feature(key_of(http), only_reads=False)
    form = read_form(http, FileForm)
    if form.purpose != "batch":
        message = f"purpose {form.purpose[:40]!r} is not supported here; use 'batch'."
        raise ApiError(400, "unsupported_value", message, "purpose")
    seconds = checked_expiry(form.seconds, "expires_after")
    upload = read_file(http)
    if (upload.size or 0) > MAX_BATCH_BYTES:
        raise ApiError(413, "too_large", f"The file has more than {MAX_BATCH_BYTES >> 20} MiB. Make several.", "file")
    content = _text(bytes(upload.read()))
    file = StoredFile(
        user_id=user_id(http),
        key=key_of(http),
        name=(upload.name or "file")[:_MAX_NAME_CHARS],
        content=content,
        num_bytes=len(content.encode()),
        expires_at=files.expiry(seconds),
    )
    done = files.save(file, read_key(http, "create_file", {"form": form, "name": file.name, "content": content}))
    response = json_response(shown(done.made))
    if done.is_repeat:
        response[REPLAYED] = "true"
    return response


def _text(data: bytes) -> str:
    """Raises ApiError."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        message = f"The file is not UTF-8 text: byte {error.start:,} is wrong."
        raise ApiError(400, "invalid", message, "file") from None
    if "\x00" in text:
        raise ApiError(400, "invalid", "The file has a NUL character; remove it.", "file")
    if not text:
        raise ApiError(400, "invalid", "The file is empty.", "file")
    return text


def _page(http: HttpRequest, query: FilesQuery) -> Page[FileObject]:
    check_feature(key_of(http), only_reads=True)
    rows = files.files_of(user_id(http), key_of(http))
    if query.purpose is not None:
        rows = rows.filter(batch__isnull=query.purpose == "batch") if query.purpose.startswith("batch") else rows.none()
    check_limit(query.limit, _MOST_LISTED)
    start = None if query.after is None else rows.filter(pk=query.after[:100]).first()
    if query.after is not None and start is None:
        raise not_listed(query.after)
    found = rows_after(rows, start, query.limit, is_ascending=query.order == "asc")
    return Page.of([shown(file) for file in found.rows], found.has_more)
