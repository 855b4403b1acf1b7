"""Operations that export conversations as files, and import them from other systems."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from webapp.api import turns
from webapp.api.surfaces.chat.conversations import find_conversation
from webapp.ground.gateway.answer import Answer
from webapp.ground.gateway.body import Upload
from webapp.ground.gateway.errors import ApiError, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Query, Result
from webapp.models.registry.offered import default_id
from webapp.surfaces.chat.exports import as_document, as_markdown
from webapp.surfaces.chat.imports.files import MAX_BYTES, ImportFileError, Item, read_file
from webapp.surfaces.chat.imports.store import MAX_FILE_MESSAGES, MAX_USER_BYTES, Rows, check_room, rows_of, store
from webapp.surfaces.chat.imports.tree import ImportProblem, grow

_MAX_NAMED = 50
"""Conversations that an import report names; the same limit for skipped ones."""
_MAX_NAME_CHARS = 80


class ConversationExportQuery(Query):
    """The file's form."""

    format: Literal["json", "markdown"] = "json"
    """JSON has all branches and can be imported again. Markdown has the shown branch."""


class ImportedConversation(Result):
    """A conversation that an import made."""

    id: str
    title: str


class SkippedConversation(Result):
    """A conversation of a file that was not imported."""

    place: str
    """Place in the file."""
    title: str
    message: str
    """The reason."""


class ImportReport(Result):
    """The result of importing a file of conversations."""

    sources: list[str]
    """Names of the systems that the conversations come from."""
    num_conversations: int
    num_messages: int
    num_known: int
    """Conversations that were here already."""
    num_skipped: int
    conversations: list[ImportedConversation]
    """The first 50."""
    skipped: list[SkippedConversation]
    """The first 50."""


@answers(200, media="application/octet-stream")
def export_conversation(request: HttpRequest, conversation_id: str, query: ConversationExportQuery) -> HttpResponse:
    """Export a conversation as a file."""
    found = find_conversation(request, conversation_id)
    if query.format == "json":
        data, kind, suffix = as_document(found, found.tree()), "application/json", ".json"
    else:
        text = as_markdown(found, found.tree(), timezone.now())
        data, kind, suffix = text.encode(), "text/markdown; charset=utf-8", ".md"
    response = HttpResponse(data, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="sightglass-{found.pk}{suffix}"'
    return response


@answers(201, 200)
def import_conversations(request: HttpRequest, file: Upload) -> Answer[ImportReport]:
    """Import conversations from a JSON or zip file of ChatGPT, Claude, Open WebUI or Sightglass.

    A file has at most 32 MiB (128 MiB unpacked), 5,000 conversations, 100,000 messages and 5,000,000 brackets outside
    texts. 200: nothing was new. 400 `invalid_import`: nothing was imported. 429 `import_busy`: one import of a user at
    a time.
    """
    owner = user_id(request)
    if (file.size or 0) > MAX_BYTES:
        advice = "Pack only its conversations.json into a zip file."
        message = f"The file is larger than {MAX_BYTES >> 20} MiB, the limit. {advice}"
        raise ApiError(413, "too_large", message, "file")
    try:
        with turns.imports().turn(owner):
            found = _read(owner, _name(file), bytes(file.read()))
            stored = store(owner, found.rows)
    except ImportFileError as error:
        raise ApiError(400, "invalid_import", str(error), "file") from None
    report = ImportReport(
        sources=sorted(found.sources),
        num_conversations=len(stored.conversations),
        num_messages=stored.num_messages,
        num_known=stored.num_known,
        num_skipped=len(found.skipped),
        conversations=[
            ImportedConversation(id=each.pk, title=each.title) for each in stored.conversations[:_MAX_NAMED]
        ],
        skipped=found.skipped[:_MAX_NAMED],
    )
    return Answer(report, status=201 if stored.conversations else 200)


def _name(file: Upload) -> str:
    """The file's name for messages: printable, shortened; "The file" where it has none."""
    shown = "".join(char for char in file.name or "" if char.isprintable())
    return shown[:_MAX_NAME_CHARS] or "The file"


class _Found:
    """The conversations of a file: rows to save, and items to skip with the reason."""

    def __init__(self) -> None:
        self.rows: list[Rows] = []
        self.skipped: list[SkippedConversation] = []
        self.sources: Counter[str] = Counter()

    def skip(self, item: Item, message: str) -> None:
        self.skipped.append(SkippedConversation(place=item.place, title=item.title, message=message))


def _read(owner: int, name: str, data: bytes) -> _Found:
    """Read the file's conversations into rows; nothing is saved. Raises ImportFileError."""
    found, now, model = _Found(), timezone.now().timestamp(), default_id()
    num_bytes = num_messages = 0
    for item in read_file(name, data):
        if item.draft is None:
            found.skip(item, item.problem)
            continue
        try:
            rows = rows_of(owner, grow(item.draft), now, model)
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
