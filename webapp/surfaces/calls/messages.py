"""Messages of any family as the model's messages: texts of one role in a row are parts of one message.

Knows nothing of a family's forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.protocol.events import Image, SegmentKind
from inference.protocol.request import MAX_MESSAGE_BYTES, KeptTTL
from inference.protocol.tool_calls import Tool, ToolCalls
from webapp.ground.context.assemble import SourceMessage
from webapp.ground.context.tools import definitions_part
from webapp.ground.gateway.errors import ApiError


@dataclass(frozen=True)
class Said:
    """One text of a client's message."""

    role: str
    text: str
    place: str
    """Its place in the body, such as `messages[2]`; texts of one message have the same."""
    is_result: bool = False
    """The result of a tool's call."""
    is_joined: bool = False
    """A line break is enough between it and the text before, also of another message: results of several calls."""
    breakpoint: KeptTTL | None = None
    """The client wants the prompt up to its end kept in the cache for this time."""
    image: Image | None = None
    """The picture that it is, in place of a text."""


def messages_of(said: Sequence[Said], tools: Sequence[Tool]) -> tuple[SourceMessage, ...]:
    """Return the model's messages. The tools' definitions follow the system prompt. Raises ApiError."""
    if tools and (problem := ToolCalls(tools=tuple(tools)).problem()):
        raise ApiError(400, "invalid", f"tools {problem}.", "tools")
    num_system = next((index for index, each in enumerate(said) if each.role != "system"), len(said))
    new = _new_message(said)
    found: list[SourceMessage] = []
    for index, each in enumerate(said):
        if index == num_system and tools:
            found.append(definitions_part(tools, bool(found)))
        _check(each)
        before = said[index - 1] if index else None
        is_continued = bool(found) and found[-1].role == each.role
        has_separator = is_continued and each.image is None
        text = _separator(before, each) + each.text if has_separator else each.text
        kind = _kind(each, is_new=index >= new)
        source = f"api:{each.place}"
        found.append(SourceMessage(each.role, text, source, kind, is_continued, each.breakpoint, each.image))
    if tools and num_system == len(said):
        found.append(definitions_part(tools, bool(found)))
    return tuple(found)


def _new_message(said: Sequence[Said]) -> int:
    """Index of the new message's first text: the last texts of the user, before the beginning of an answer."""
    first = len(said)
    while first and said[first - 1].role == "assistant":
        first -= 1
    while first and said[first - 1].role == "user":
        first -= 1
    return first


def _kind(said: Said, is_new: bool) -> SegmentKind:
    if said.image is not None:
        return "image"
    if said.role == "system":
        return "system"
    if said.is_result:
        return "result"
    return "user" if is_new and said.role == "user" else "history"


def _separator(before: Said | None, each: Said) -> str:
    if before is None or before.place == each.place:
        return ""
    return "\n" if before.is_joined and each.is_joined else "\n\n"


def _check(said: Said) -> None:
    if "\x00" in said.text:
        raise ApiError(400, "invalid", "The text has a NUL character; remove it.", said.place)
    try:
        size = len(said.text.encode())
    except UnicodeEncodeError:
        raise ApiError(400, "invalid", "The text has half a surrogate pair. Send valid Unicode.", said.place) from None
    if size > MAX_MESSAGE_BYTES:
        message = f"The text has {size:,} bytes; the limit is {MAX_MESSAGE_BYTES:,}. Shorten it."
        raise ApiError(413, "too_large", message, said.place)
