"""The summary that stands for a branch's beginning in a prompt. Knows nothing of how one is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from inference.protocol.events import Dropped
from webapp.ground.context.source import SourceMessage
from webapp.surfaces.chat.models import Conversation, Message, Summary

FEATURE = "summary"
"""Feature flag of a request whose prompt has a summary."""
LABEL = "Summary of the conversation's beginning:\n"


def summary_of(conversation: Conversation, path: Sequence[Message]) -> Summary | None:
    """The summary that covers the most of this branch; None: there is none.

    A branch that leaves the conversation before the summary's last message has none of it.
    """
    if len(path) < 2:
        return None
    return newest(path, conversation.summaries.select_related("request").defer("request__input"))


def newest(path: Sequence[Message], summaries: Iterable[Summary]) -> Summary | None:
    """Of these summaries the one that covers the most of the branch, and of two such the later one."""
    places = {message.pk: at for at, message in enumerate(path)}
    found = [each for each in summaries if each.up_to_id in places and each.text]
    return max(found, key=lambda each: (places[each.up_to_id], each.created_at), default=None)


def after(summary: Summary | None, path: Sequence[Message]) -> list[Message]:
    """The messages of the branch that the summary does not cover."""
    if summary is None:
        return list(path)
    end = next(at for at, message in enumerate(path) if message.pk == summary.up_to_id)
    return list(path[end + 1 :])


def part_of(summary: Summary, is_first: bool) -> SourceMessage:
    """The summary as a part of the system message. is_first: no other part stands before it."""
    text = LABEL + summary.text
    return SourceMessage(
        "system", text if is_first else "\n\n" + text, f"summary:{summary.request_id}", "summary", not is_first
    )


def covered_by(summary: Summary | None) -> tuple[Dropped, ...]:
    """The messages in whose place the summary stands."""
    return () if summary is None else msgspec.convert(summary.covered, tuple[Dropped, ...])
