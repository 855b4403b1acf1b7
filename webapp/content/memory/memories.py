"""Saves, edits, finds and deletes a user's memories. Each change renews the user's version. Knows nothing of HTTP."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from webapp.content.memory.embedding import packed, vector_of
from webapp.content.memory.models import MAX_CHARS, Memory, MemorySettings
from webapp.content.memory.vectors import Match, vector_cache

MOST = 10_000
"""Memories of one user."""


class CannotRemember(Exception):
    """The text is not saved; the exception's text says why."""


class MemoryOff(CannotRemember):
    """The user has turned memory off."""


@dataclass(frozen=True)
class Found:
    """A memory and its similarity to the text that was searched for."""

    memory: Memory
    similarity: float


def settings_of(user_id: int) -> MemorySettings:
    """The user's settings; the defaults where none are saved."""
    return MemorySettings.objects.filter(pk=user_id).first() or MemorySettings(user_id=user_id)


def choose_mode(user_id: int, mode: str) -> None:
    """Save the user's choice."""
    MemorySettings.objects.update_or_create(user_id=user_id, defaults={"mode": mode})


def remember(user_id: int, text: str, message_id: str = "") -> Memory:
    """Save a text. The same text is saved once; a disabled one is enabled again. Raises CannotRemember."""
    checked = checked_text(text)
    if settings_of(user_id).mode == MemorySettings.Mode.OFF:
        raise MemoryOff("Memory is off, so nothing is saved. Turn it on on the page of your memories.")
    own = Memory.objects.filter(user_id=user_id)
    known = own.filter(text=checked).first()
    if known is not None:
        return known if known.is_enabled else change(known, is_enabled=True)
    if own.count() >= MOST:
        raise CannotRemember(f"You have {MOST:,} memories, the limit. Delete some first.")
    memory = Memory(user_id=user_id, text=checked, message_id=message_id, vector=packed(vector_of(checked)))
    with transaction.atomic():
        memory.save()
        _renew_version(user_id)
    return memory


def change(memory: Memory, text: str | None = None, is_enabled: bool | None = None) -> Memory:
    """Change a memory's text, or enable or disable it. Raises CannotRemember."""
    if text is not None:
        memory.text = checked_text(text)
        memory.vector, memory.updated_at = packed(vector_of(memory.text)), timezone.now()
    if is_enabled is not None:
        memory.is_enabled = is_enabled
    with transaction.atomic():
        memory.save(update_fields=["text", "vector", "updated_at", "is_enabled"])
        _renew_version(memory.user_id)
    return memory


def delete(found: QuerySet[Memory], user_id: int) -> int:
    """Delete these of the user's memories and return their number."""
    with transaction.atomic():
        num, _ = found.filter(user_id=user_id).delete()
        _renew_version(user_id)
    vector_cache().forget(user_id)
    return num


def search(user_id: int, text: str, num: int, enabled_only: bool = False) -> list[Found]:
    """The user's memories nearest to the text, the nearest first. No text: none."""
    version = settings_of(user_id).version
    if not text.strip() or not Memory.objects.filter(user_id=user_id).exists():
        return []
    return rows_of(user_id, vector_cache().of(user_id, version).nearest(vector_of(text), num, enabled_only))


def rows_of(user_id: int, matches: list[Match]) -> list[Found]:
    """The matches with their rows as they are now, without those that are gone."""
    rows = Memory.objects.filter(user_id=user_id).defer("vector").in_bulk([each.id for each in matches])
    return [Found(rows[each.id], each.similarity) for each in matches if each.id in rows]


def mark_used(user_id: int, ids: list[str]) -> None:
    """Note that a request's prompt has these memories."""
    Memory.objects.filter(user_id=user_id, pk__in=ids).update(used_at=timezone.now())


def checked_text(text: str) -> str:
    """The text without spaces at its ends. Raises CannotRemember."""
    found = text.replace("\x00", "").strip()
    if not found:
        raise CannotRemember("The memory is empty. Write what to remember.")
    if len(found) > MAX_CHARS:
        message = f"A memory has {MAX_CHARS:,} characters at most; this one has {len(found):,}. Shorten it."
        raise CannotRemember(message)
    return found


def _renew_version(user_id: int) -> None:
    MemorySettings.objects.update_or_create(user_id=user_id, defaults={"version": secrets.randbits(62)})
