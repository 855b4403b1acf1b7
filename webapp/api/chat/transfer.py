"""The chat's JSON API: conversations exported as files, and imported from other systems."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.utils import timezone

from webapp.api.chat.conversations import find_conversation
from webapp.api.view import api
from webapp.chat.exports import as_document, as_markdown
from webapp.chat.imports.files import MAX_BYTES, ImportFileError, Item, read_file
from webapp.chat.imports.keep import MAX_FILE_MESSAGES, MAX_USER_BYTES, Rows, check_room, keep, rows_of
from webapp.chat.imports.tree import ImportProblem, grow
from webapp.gateway.errors import ApiError, user_id

_MAX_NAMED = 50
"""Conversations that an import report names; the same limit for skipped ones."""
_MAX_NAME_CHARS = 80


@api("GET")
def export(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """Return the conversation as a file. `format`: `json` (the default), which import reads again, or `markdown`."""
    found = find_conversation(request, conversation_id)
    form = request.GET.get("format", "json")
    if form == "json":
        data, kind, suffix = as_document(found, found.tree()), "application/json", ".json"
    elif form == "markdown":
        text = as_markdown(found, found.tree(), timezone.now())
        data, kind, suffix = text.encode(), "text/markdown; charset=utf-8", ".md"
    else:
        raise ApiError(400, "invalid", "format must be json or markdown.", "format")
    response = HttpResponse(data, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="sightglass-{found.pk}{suffix}"'
    return response


@api("POST")
def import_conversations(request: HttpRequest) -> HttpResponse:
    """Import the file's conversations and report on each."""
    owner, file = user_id(request), _file(request)
    try:
        found = _read(owner, _name(file), bytes(file.read()))
        kept = keep(owner, found.rows)
    except ImportFileError as error:
        raise ApiError(400, "invalid_import", str(error), "file") from None
    report = {
        "sources": sorted(found.sources),
        "num_conversations": len(kept.conversations),
        "num_messages": kept.num_messages,
        "num_known": kept.num_known,
        "num_skipped": len(found.skipped),
        "conversations": [{"id": each.pk, "title": each.title} for each in kept.conversations[:_MAX_NAMED]],
        "skipped": found.skipped[:_MAX_NAMED],
    }
    return JsonResponse(report, status=201 if kept.conversations else 200)


def _file(request: HttpRequest) -> UploadedFile[bytes]:
    try:
        file = request.FILES.get("file")
    except (RequestDataTooBig, MultiPartParserError):
        file = None
    if not isinstance(file, UploadedFile):
        raise ApiError(400, "invalid", "Send the export as multipart form data, in a field named file.", "file")
    if (file.size or 0) > MAX_BYTES:
        advice = "Pack only its conversations.json into a zip file."
        message = f"The file is larger than {MAX_BYTES >> 20} MiB, the limit. {advice}"
        raise ApiError(413, "too_large", message, "file")
    return file


def _name(file: UploadedFile[bytes]) -> str:
    """The file's name for messages: printable, shortened; "The file" where it has none."""
    shown = "".join(char for char in file.name or "" if char.isprintable())
    return shown[:_MAX_NAME_CHARS] or "The file"


class _Found:
    """The conversations of a file: rows to save, and items to skip with the reason."""

    def __init__(self) -> None:
        self.rows: list[Rows] = []
        self.skipped: list[dict[str, Any]] = []
        self.sources: Counter[str] = Counter()

    def skip(self, item: Item, message: str) -> None:
        self.skipped.append({"place": item.place, "title": item.title, "message": message})


def _read(owner: int, name: str, data: bytes) -> _Found:
    """Read the file's conversations into rows; nothing is saved. Raises ImportFileError."""
    found, now = _Found(), timezone.now().timestamp()
    num_bytes = num_messages = 0
    for item in read_file(name, data):
        if item.draft is None:
            found.skip(item, item.problem)
            continue
        try:
            rows = rows_of(owner, grow(item.draft), now)
        except ImportProblem as error:
            found.skip(item, str(error))
            continue
        num_bytes += rows.conversation.num_imported_bytes
        num_messages += len(rows.messages)
        if num_messages > MAX_FILE_MESSAGES:
            raise ImportFileError(f"{name} has more than {MAX_FILE_MESSAGES:,} messages. Split it.")
        check_room(num_bytes, MAX_USER_BYTES)  # the limit of memory for one file
        found.rows.append(rows)
        found.sources[item.source] += 1
    return found
