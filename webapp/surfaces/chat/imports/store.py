"""Saves imported conversations: all of a file's or none, each once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
from django.db import transaction
from django.db.models import Sum

from inference.protocol.request import MAX_MESSAGE_BYTES, SamplingParams
from webapp.lifecycle.admission import lock_user
from webapp.surfaces.chat.imports.files import ImportFileError
from webapp.surfaces.chat.imports.tree import Brought, Draft, ImportProblem
from webapp.surfaces.chat.models import Conversation, Message, NewChats

MAX_USER_BYTES = 256 << 20
"""Limit on the bytes of all imported texts of one user."""
MAX_FILE_MESSAGES = 100_000
_BATCH_MESSAGES = 1_000
"""Messages saved in one transaction: on SQLite all other writers wait meanwhile."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Stored:
    """The conversations saved from a file, and the number already known."""

    conversations: list[Conversation]
    num_messages: int
    num_known: int


@dataclass(frozen=True)
class Rows:
    """The rows of one imported conversation."""

    conversation: Conversation
    messages: list[Message]
    draft: Draft


def rows_of(owner: int, brought: Brought, now: float, model: str) -> Rows:
    """Return the rows, not saved yet. now: the date where the file has none. model: of the next messages.

    Raises ImportProblem.
    """
    begun = now if brought.draft.created_at is None else brought.draft.created_at
    times = _times(brought, begun)
    system_prompt = brought.draft.system_prompt.replace("\x00", "").strip()
    if len(system_prompt.encode()) > MAX_MESSAGE_BYTES:
        raise ImportProblem(f"Its system prompt has more than {MAX_MESSAGE_BYTES:,} bytes.")
    usual = NewChats.of(owner)
    conversation = Conversation(
        user_id=owner,
        title=brought.title,
        model=model,
        system_prompt=system_prompt,
        params=msgspec.to_builtins(brought.draft.params or SamplingParams()),
        n=brought.draft.n,
        tools=list(brought.draft.tools),
        memory=usual.memory,
        speculation=usual.speculation,
        is_pinned=brought.draft.is_pinned,
        import_digest=_digest(brought),
        num_imported_bytes=sum(len(message.text.encode()) for message in brought.messages),
        created_at=_date(begun),
        updated_at=_date(brought.draft.updated_at or max(times)),
    )
    messages = _messages(conversation, brought, times)
    conversation.leaf_id = messages[brought.leaf].pk
    return Rows(conversation, messages, brought.draft)


def _times(brought: Brought, begun: float) -> list[float]:
    """Each message's time; a message without a date gets its parent's time."""
    times = list[float]()
    for each in brought.messages:
        before = begun if each.parent is None else times[each.parent]
        times.append(before if each.at is None else each.at)
    return times


def _digest(brought: Brought) -> str:
    said = [[each.parent, each.role, each.text, each.at, each.model] for each in brought.messages]
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()


def _messages(conversation: Conversation, brought: Brought, times: list[float]) -> list[Message]:
    """Make the messages with distinct times, because siblings are ordered by time."""
    made, num_at = list[Message](), Counter[float]()
    for each, at in zip(brought.messages, times, strict=True):
        is_question = each.role == "user"
        message = Message(
            conversation=conversation,
            parent=None if each.parent is None else made[each.parent],
            role=each.role,
            user_text=each.text if is_question else "",
            imported_text="" if is_question else each.text,
            imported_model=each.model.replace("\x00", "") if not is_question else "",
            is_imported=True,
            created_at=_date(at) + timedelta(microseconds=num_at[at]),
        )
        num_at[at] += 1
        made.append(message)
    return made


def _date(at: float) -> datetime:
    return _EPOCH + timedelta(seconds=at)


def _num_bytes_free(owner: int) -> int:
    taken = Conversation.objects.filter(user_id=owner).aggregate(taken=Sum("num_imported_bytes"))["taken"]
    return MAX_USER_BYTES - (taken or 0)


def check_room(num_bytes: int, num_free: int) -> None:
    """Check the user's free space. Raises ImportFileError."""
    if num_bytes > num_free:
        told = f"{MAX_USER_BYTES >> 20} MiB of texts; {max(0, num_free) >> 20} MiB are free"
        raise ImportFileError(f"You can import {told}. Delete imported conversations, or import a smaller file.")


def store(owner: int, rows: Sequence[Rows]) -> Stored:
    """Save all conversations that are not known already, or none. Raises ImportFileError.

    A crash may leave some of the conversations saved; a second import finds them as known.
    """
    saved = list[Rows]()
    try:
        for batch in _batches(rows):
            saved += _store(owner, batch)
    except Exception:
        _take_back(saved)
        raise
    num_messages = sum(len(each.messages) for each in saved)
    return Stored([each.conversation for each in saved], num_messages, len(rows) - len(saved))


def _batches(rows: Sequence[Rows]) -> Iterator[list[Rows]]:
    """Yield batches of conversations, each with about as many messages as one transaction saves."""
    batch, num_messages = list[Rows](), 0
    for each in rows:
        batch.append(each)
        num_messages += len(each.messages)
        if num_messages >= _BATCH_MESSAGES:
            yield batch
            batch, num_messages = [], 0
    yield batch


def _store(owner: int, rows: Sequence[Rows]) -> list[Rows]:
    with transaction.atomic():
        lock_user(owner)  # two simultaneous imports of the same file make one copy
        new = _unknown(owner, rows)
        check_room(sum(each.conversation.num_imported_bytes for each in new), _num_bytes_free(owner))
        Conversation.objects.bulk_create([each.conversation for each in new])
        Message.objects.bulk_create([message for each in new for message in each.messages], batch_size=500)
    return new


def _take_back(saved: Sequence[Rows]) -> None:
    for batch in _batches(saved):
        Conversation.objects.filter(pk__in=[each.conversation.pk for each in batch]).delete()


def _unknown(owner: int, rows: Sequence[Rows]) -> list[Rows]:
    """The conversations that are not imported yet; one that appears twice in the file counts once."""
    digests = [each.conversation.import_digest for each in rows]
    imported = Conversation.objects.filter(user_id=owner, import_digest__in=digests)
    known = set(imported.values_list("import_digest", flat=True))
    new = list[Rows]()
    for each in rows:
        if each.conversation.import_digest not in known and not _is_here(owner, each.draft):
            known.add(each.conversation.import_digest)
            new.append(each)
    return new


def _is_here(owner: int, draft: Draft) -> bool:
    """True if it was exported from a conversation of this user that still has all its messages."""
    if not draft.id:
        return False
    here = Message.objects.filter(conversation_id=draft.id, conversation__user_id=owner)
    return {node.id for node in draft.nodes} <= set(here.values_list("pk", flat=True))
