"""Checks the memories of a prompt by the safety policy, as results of tools are checked. Knows nothing of their search.

A memory is a text that its user once wrote or took from an answer: hostile input like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from inference.protocol.events import AnyEvent, MemoryRecalled, RecalledMemory
from inference.safety import Check, Guard
from webapp.ground.context import memory
from webapp.requests.input import Messages

_SUBJECT = "memory"


@dataclass(frozen=True)
class Recalled:
    """A prompt's messages without blocked memories, and the events that tell of the memories."""

    messages: Messages
    events: list[AnyEvent]


def check_memories(
    messages: Messages, recalled: MemoryRecalled, guard: Guard, principal: str | None, at: Callable[[], int]
) -> Recalled:
    """Check the memories, all in one. A blocked one leaves the prompt, and its text the event.

    at: µs since acceptance, now.
    """
    if not recalled.items:
        return Recalled(messages, [msgspec.structs.replace(recalled, at=at())])
    recalled = _rewritten(recalled, guard)
    text = "\n".join(item.text for item in recalled.items)
    check = guard.check(text, "tool_result", principal)
    items = recalled.items if check.verdict != "block" else _without_blocked(recalled.items, check, guard, principal)
    told = msgspec.structs.replace(recalled, at=at(), items=items)
    kept = [(item.id, item.text) for item in items if not item.is_blocked]
    checked = msgspec.structs.replace(check.event(at(), "tool_result", 0, len(text)), subject=_SUBJECT)
    return Recalled(_with(messages, kept) if len(kept) < len(items) else messages, [told, checked])


def _rewritten(recalled: MemoryRecalled, guard: Guard) -> MemoryRecalled:
    """The memories as the model reads them: what the policy rewrites stands in no event."""
    items = (msgspec.structs.replace(each, text=guard.rewritten(each.text, "tool_result")) for each in recalled.items)
    return msgspec.structs.replace(recalled, items=tuple(items))


def _without_blocked(
    items: tuple[RecalledMemory, ...], whole: Check, guard: Guard, principal: str | None
) -> tuple[RecalledMemory, ...]:
    """The items, of which those that a check of their own blocks are marked; all, where none is blocked alone."""
    found = tuple(_checked(item, guard.check(item.text, "tool_result", principal)) for item in items)
    return found if any(item.is_blocked for item in found) else tuple(_checked(item, whole) for item in items)


def _checked(item: RecalledMemory, check: Check) -> RecalledMemory:
    if check.verdict != "block":
        return item
    return msgspec.structs.replace(item, text=check.replacement, is_blocked=True)


def _with(messages: Messages, notes: list[tuple[str, str]]) -> Messages:
    """The messages with these notes alone as their memories."""
    place = next(at for at, each in enumerate(messages) if each.kind == "memory")
    own, after = messages[place], messages[place + 1 :]
    if notes:
        part = replace(memory.part(notes, own.is_continued), breakpoint=own.breakpoint)
        return (*messages[:place], part, *after)
    if not own.is_continued and after and after[0].is_continued:
        after = (replace(after[0], is_continued=False), *after[1:])
    return (*messages[:place], *after)
