"""Operations on a user's memories. Knows nothing of how a prompt gets them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Literal

import msgspec
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from inference.safety.minilm import SafetyModelError
from webapp.content.memory import memories, models
from webapp.content.memory.memories import CannotRemember, Found, MemoryOff
from webapp.content.memory.notices import Notice, notice_of
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Query, Result
from webapp.surfaces.chat.models import Message

_PAGE = 100
_EXPORT = "sightglass-memories"

Mode = Literal["off", "ask", "on"]


class MemoryQuery(Query):
    """Which memories."""

    q: str = ""
    """Text whose nearest memories are listed, by similarity. Empty: all, the newest first."""
    after: int = 0
    """Memories to leave out, from the first one on. Not with `q`."""


class NewMemory(Body):
    """A text to remember."""

    text: str
    message_id: str | None = None
    """The message that it comes from; null: the user wrote it."""


class MemoryChange(Body):
    """The fields to change; a field that is left out stays."""

    text: str | None = None
    is_enabled: bool | None = None


class MemoryMode(Body):
    """off: nothing is saved or used; ask: nothing is saved unasked; on: "remember that …" saves at once."""

    mode: Mode


class SavedMemory(Result):
    """A text that the user saved."""

    id: str
    text: str
    is_enabled: bool
    """A disabled memory is in no prompt."""
    message_id: str | None
    """The message that it comes from; null: the user wrote it on the page of memories."""
    conversation_id: str | None
    """The conversation of that message; null: there is none, or it was deleted."""
    created_at: datetime
    updated_at: datetime
    """Time of the last edit of its text."""
    used_at: datetime | None
    """Time of the last request whose prompt had it; null: none yet."""
    similarity: float | None = None
    """Cosine similarity to the text that was searched for, -1 to 1; null: nothing was searched for."""


class MemoryList(Result):
    """The user's memories, 100 at most, and the mode."""

    mode: Mode
    num: int
    """All memories of the user."""
    memories: list[SavedMemory]


class ClearedMemory(Result):
    """The result of deleting all memories."""

    num: int


class MemoryNotice(Result):
    """What a message that begins with "remember" or "forget" did, or asks.

    saved: `memory` is saved. ask: nothing is saved; the user decides about `text`. forget: nothing is deleted; the user
    chooses among `matches`. refused: `problem` says why nothing is saved.
    """

    kind: Literal["saved", "ask", "forget", "refused"]
    text: str
    memory: SavedMemory | None
    matches: list[SavedMemory]
    problem: str


def list_memories(request: HttpRequest, query: MemoryQuery) -> MemoryList:
    """List the user's memories, or search them by meaning."""
    owner = user_id(request)
    if not 0 <= query.after < 1 << 31:
        raise ApiError(400, "invalid", "after is a number of memories, from 0.", "after")
    own = models.Memory.objects.filter(user_id=owner)
    with refusing():
        found = memories.search(owner, query.q, _PAGE) if query.q.strip() else None
    newest = own.order_by("-created_at", "-pk").defer("vector")[query.after : query.after + _PAGE]
    items = _shown_all(newest) if found is None else _shown_found(found)
    mode: Mode = memories.settings_of(owner).mode  # type: ignore[assignment]  # the column's choices are these
    return MemoryList(mode=mode, num=own.count(), memories=items)


@answers(201)
def create_memory(request: HttpRequest, body: NewMemory) -> SavedMemory:
    """Remember a text. 409 `memory_off`. The same text is saved once."""
    owner = user_id(request)
    if body.message_id is not None and not _own_messages(owner).filter(pk=body.message_id).exists():
        raise not_found("message")
    with refusing():
        return shown(memories.remember(owner, body.text, body.message_id or ""))


def change_memory(request: HttpRequest, memory_id: str, body: MemoryChange) -> SavedMemory:
    """Edit, enable or disable a memory."""
    found = _find(request, memory_id)
    with refusing():
        return shown(memories.change(found, body.text, body.is_enabled))


def delete_memory(request: HttpRequest, memory_id: str) -> None:
    """Delete a memory. No later request finds it; saved traces of earlier ones keep their prompts."""
    found = _find(request, memory_id)
    memories.delete(models.Memory.objects.filter(pk=found.pk), found.user_id)


def clear_memories(request: HttpRequest) -> ClearedMemory:
    """Delete all memories of the user."""
    owner = user_id(request)
    return ClearedMemory(num=memories.delete(models.Memory.objects.filter(user_id=owner), owner))


def change_memory_mode(request: HttpRequest, body: MemoryMode) -> MemoryMode:
    """Turn memory off, on, or to ask first. Saved memories stay."""
    memories.choose_mode(user_id(request), body.mode)
    return body


@answers(200)
def export_memories(request: HttpRequest) -> HttpResponse:
    """Export all memories of the user as a JSON file."""
    rows = models.Memory.objects.filter(user_id=user_id(request)).order_by("created_at", "pk").defer("vector")
    document = {"format": _EXPORT, "version": 1, "exported_at": timezone.now(), "memories": _shown_all(rows)}
    data = msgspec.json.format(msgspec.json.encode(document), indent=1)
    response = HttpResponse(data, content_type="application/json")
    response["Content-Disposition"] = 'attachment; filename="sightglass-memories.json"'
    return response


def notice_shown(owner: int, message: Message, is_repeat: bool) -> MemoryNotice | None:
    """The notice below a new message. A message that is posted again asks nothing again."""
    if is_repeat or not message.conversation.memory:
        return None
    with refusing():
        notice = notice_of(owner, message.user_text, message.pk)
    return _notice(notice) if notice is not None else None


def _notice(notice: Notice) -> MemoryNotice:
    return MemoryNotice(
        kind=notice.kind,
        text=notice.text,
        memory=shown(notice.memory) if notice.memory else None,
        matches=_shown_found(notice.matches),
        problem=notice.problem,
    )


@contextmanager
def refusing() -> Iterator[None]:
    """Turn what memories cannot do into refusals."""
    try:
        yield
    except MemoryOff as error:
        raise ApiError(409, "memory_off", str(error)) from None
    except CannotRemember as error:
        raise ApiError(400, "invalid", str(error), "text") from None
    except SafetyModelError as error:
        raise ApiError(503, "model_unavailable", str(error)) from None


def shown(row: models.Memory) -> SavedMemory:
    return _shown_all([row])[0]


def _shown_found(found: Iterable[Found]) -> list[SavedMemory]:
    found = list(found)
    items = _shown_all(each.memory for each in found)
    return [msgspec.structs.replace(item, similarity=each.similarity) for item, each in zip(items, found, strict=True)]


def _shown_all(rows: Iterable[models.Memory]) -> list[SavedMemory]:
    rows = list(rows)
    # Ids of messages are given by the server; a memory's message is its user's.
    of_messages = Message.objects.filter(pk__in=[row.message_id for row in rows if row.message_id])
    conversations = dict(of_messages.values_list("pk", "conversation_id"))
    return [_item(row, conversations.get(row.message_id)) for row in rows]


def _item(row: models.Memory, conversation_id: str | None) -> SavedMemory:
    return SavedMemory(
        id=row.pk,
        text=row.text,
        is_enabled=row.is_enabled,
        message_id=row.message_id or None,
        conversation_id=conversation_id,
        created_at=row.created_at,
        updated_at=row.updated_at,
        used_at=row.used_at,
    )


def _own_messages(owner: int) -> QuerySet[Message]:
    return Message.objects.filter(conversation__user_id=owner)


def _find(request: HttpRequest, memory_id: str) -> models.Memory:
    found = models.Memory.objects.filter(pk=memory_id, user_id=user_id(request)).first()
    if found is None:
        raise not_found("memory")
    return found
