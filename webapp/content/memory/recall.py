"""Chooses the few memories that a message is about. Knows nothing of conversations.

The choice stays within a conversation, so that its prompts begin alike and the prefix cache holds: memories of the
prompt before stay in their order, and new ones are appended.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec.structs import replace

from inference.protocol.events import MemoryRecalled, RecalledMemory
from webapp.content.memory.embedding import vector_of
from webapp.content.memory.memories import rows_of, settings_of
from webapp.content.memory.models import Memory, MemorySettings
from webapp.content.memory.vectors import Match, vector_cache

THRESHOLD = 0.3
"""Least similarity of a memory that is new to the prompt; docs/memory.md has the pairs that it was chosen by."""
MOST_NEW = 5
MOST_IN_ALL = 10
"""Memories of one prompt, with those that stayed. Where one more comes, the choice begins anew."""
MOST_CHARS = 4000
"""Of the texts of one prompt's memories: the window of a small model has some 8,000 tokens."""


def recall(user_id: int, text: str, before: Sequence[str]) -> MemoryRecalled | None:
    """The memories for a message, as an event whose `at` is 0. None: memory is off, or none is enabled.

    before: ids of the memories in the conversation's prompt before. Raises SafetyModelError.
    """
    settings = settings_of(user_id)
    is_off = settings.mode == MemorySettings.Mode.OFF
    if is_off or not Memory.objects.filter(user_id=user_id, is_enabled=True).exists():
        return None
    start_ns = time.perf_counter_ns()
    vector, vectors = vector_of(text), vector_cache().of(user_id, settings.version)
    near = [each for each in vectors.nearest(vector, MOST_NEW, enabled_only=True) if each.similarity >= THRESHOLD]
    items = choose(_items(user_id, vectors.matches(vector, before), is_kept=True), _items(user_id, near))
    return MemoryRecalled(
        at=0,
        items=tuple(items),
        num_considered=int(np.count_nonzero(vectors.is_enabled)),
        threshold=THRESHOLD,
        duration_us=(time.perf_counter_ns() - start_ns) // 1000,
    )


def choose(kept: Sequence[RecalledMemory], near: Sequence[RecalledMemory]) -> list[RecalledMemory]:
    """Those of the prompt before, then the near ones that it lacks; the near ones alone where these do not fit."""
    known = {each.id for each in kept}
    both = [*kept, *(each for each in near if each.id not in known)]
    if len(both) <= MOST_IN_ALL and _num_chars(both) <= MOST_CHARS:
        return both
    return _fitting([replace(each, is_kept=False) for each in near])


def _fitting(items: Iterable[RecalledMemory]) -> list[RecalledMemory]:
    found: list[RecalledMemory] = []
    for each in items:
        if _num_chars([*found, each]) <= MOST_CHARS:
            found.append(each)
    return found


def _num_chars(items: Iterable[RecalledMemory]) -> int:
    return sum(len(each.text) for each in items)


def _items(user_id: int, matches: list[Match], is_kept: bool = False) -> list[RecalledMemory]:
    """The matches as they are now: a memory that was deleted or disabled meanwhile is not among them."""
    found = (each for each in rows_of(user_id, matches) if each.memory.is_enabled)
    return [
        RecalledMemory(id=each.memory.pk, text=each.memory.text, similarity=each.similarity, is_kept=is_kept)
        for each in found
    ]
