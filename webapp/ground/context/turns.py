"""Whole turns of a prompt's history: a user's message and all that follows it. Pure: knows no tokens and no rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from webapp.ground.context.source import PINNED, SourceMessage


def turns_of(messages: Sequence[SourceMessage]) -> list[list[SourceMessage]]:
    """The turns before the new message, oldest first, without what is pinned."""
    turns: list[list[SourceMessage]] = []
    before: SourceMessage | None = None
    for each in messages[: _new_message(messages)]:
        if each.kind not in PINNED:
            if not turns or _begins_turn(each, before):
                turns.append([])
            turns[-1].append(each)
        before = each
    return turns


def without(messages: Sequence[SourceMessage], left_out: Sequence[SourceMessage]) -> list[SourceMessage]:
    """The other messages. A user's message that now follows a pinned one of the same role becomes a part of it."""
    gone = set(map(id, left_out))
    kept: list[SourceMessage] = []
    for each in messages:
        if id(each) in gone:
            continue
        is_joined = bool(kept) and not each.is_continued and kept[-1].kind in PINNED and kept[-1].role == each.role
        kept.append(replace(each, content=_apart(each), is_continued=True) if is_joined else each)
    return kept


def new_text(messages: Sequence[SourceMessage]) -> str:
    """The new message's own text, without the pictures, files and memories that stand in it."""
    return "".join(each.content for each in messages[_new_message(messages) :] if each.kind not in PINNED)


def _apart(message: SourceMessage) -> str:
    """The content as the next part of a message. A picture needs no line between."""
    return "\n\n" + message.content if message.image is None else ""


def _begins_turn(message: SourceMessage, before: SourceMessage | None) -> bool:
    """A result is part of the turn of its call. A message's second part begins a turn where the first one is pinned."""
    if message.role != "user" or message.kind == "result":
        return False
    return not message.is_continued or (before is not None and before.kind in PINNED)


def _new_message(messages: Sequence[SourceMessage]) -> int:
    """Index of the new message's first part. The beginning of an answer after it goes with it."""
    last = len(messages) - 1
    while last > 0 and (messages[last].role == "assistant" or messages[last].is_continued):
        last -= 1
    return max(0, last)
