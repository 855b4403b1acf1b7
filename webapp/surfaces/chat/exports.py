"""A conversation as a file: JSON with all its branches, Markdown of the branch that is shown. Knows nothing of HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from webapp.surfaces.chat.branches import path_to
from webapp.surfaces.chat.message_view import shown
from webapp.surfaces.chat.models import Conversation, Message

FORMAT = "sightglass-conversation"
VERSION = 1

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_FENCE = re.compile(r"(?:`{3,}[^`]*|~{3,}.*)")
_FENCE_END = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")
_BACKTICKS = re.compile(r"`+")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def as_document(found: Conversation, messages: Iterable[Message]) -> bytes:
    """Our own JSON format, which import reads again: tree, settings and request ids, indented by one space."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "id": found.pk,
        "title": found.title,
        "model": found.model,
        "system_prompt": found.system_prompt,
        "params": found.params,
        "n": found.n,
        "tools": found.tools,
        "is_pinned": found.is_pinned,
        "created_at": found.created_at.isoformat(),
        "updated_at": found.updated_at.isoformat(),
        "leaf_id": found.leaf_id,
        "messages": [_message(each) for each in messages],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1)


def _message(message: Message) -> dict[str, Any]:
    """The native API's Message, with its request's settings and without its idempotency key."""
    fields: dict[str, Any] = msgspec.to_builtins(shown(message))
    fields.pop("key")
    return fields | {"params": message.request.params if message.request else None}


def as_markdown(found: Conversation, messages: Iterable[Message], exported_at: datetime) -> str:
    """The shown branch as Markdown. Each text is quoted, so that its fences, headings and lists end with it."""
    messages = list(messages)
    leaf = next((each for each in messages if each.pk == found.leaf_id), None)
    pieces = [f"# {_plain(found.title or 'New chat')}\n", _about(found, exported_at)]
    pieces += [_turn(message, found) for message in path_to(leaf, messages)]
    return "\n".join(pieces)


def _about(found: Conversation, exported_at: datetime) -> str:
    lines = [
        f"- Begun: {_date(found.created_at)}",
        f"- Last message: {_date(found.updated_at)}",
        f"- Model: {_plain(found.model)}",
        f"- Exported: {_date(exported_at)}",
    ]
    if found.system_prompt:
        lines.append(f"\nSystem prompt:\n\n{_quoted(found.system_prompt)}")
    return "\n".join(lines) + "\n"


def _turn(message: Message, found: Conversation) -> str:
    answer = shown(message)
    name = "You" if answer.role == "user" else _plain(answer.model or found.model)
    text = _quoted(answer.text) if answer.text else "*No text.*"
    ending = "" if answer.status in (None, "done") else f"\n\n*This answer is {_ENDINGS[answer.status]}.*"
    return f"## {name}, {_date(message.created_at)}\n\n{text}{ending}\n"


_ENDINGS = {
    "streaming": "still being written",
    "stopped": "cut: it was stopped",
    "withheld": "cut: the safety policy withheld the rest",
    "blocked": "missing: the safety policy refused it",
    "failed": "not whole: it failed",
}


def _date(at: datetime) -> str:
    return f"{at.day} {at:%B %Y, %H:%M} UTC"


def _plain(text: str) -> str:
    """The text on one line, with Markdown's punctuation escaped."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _without_html(text.splitlines()))


def _without_html(lines: list[str]) -> Iterator[str]:
    """Escape HTML tags, so that a viewer shows them as text. Tags in code stay as they are."""
    are_spans_sure = all(_is_paired(line) for line, is_code in _fenced(lines) if not is_code)
    for line, is_code in _fenced(lines):
        yield line if is_code else _escaped(line) if are_spans_sure else _TAG.sub(r"\\<", line)


def _fenced(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line, and True if it is code.

    An indented fence does not count: it may belong to a list, whose end is hard to tell.
    """
    fence = ""
    for line in lines:
        if not fence and _FENCE.fullmatch(line):
            fence = re.split(r"[^`~]", line)[0]
            yield line, True
            continue
        end = _FENCE_END.fullmatch(line)
        yield line, bool(fence)
        if fence and end and end[1].startswith(fence):
            fence = ""


def _is_paired(line: str) -> bool:
    """True if each backtick of the line belongs to a code span that ends in the line."""
    if "`" not in line:
        return True
    return "\\`" not in line and not any("`" in text for text, is_code in _pieces(line) if not is_code)


def _escaped(line: str) -> str:
    """Escape tags between the code spans."""
    if "<" not in line:
        return line
    return "".join(text if is_code else _TAG.sub(r"\\<", text) for text, is_code in _pieces(line))


def _pieces(line: str) -> Iterator[tuple[str, bool]]:
    """Yield the line's pieces, and True for a code span. It ends at the next run of as many backticks.

    Takes linear time: an imported text may be one line of backticks.
    """
    runs = [match.span() for match in _BACKTICKS.finditer(line)]
    next_alike = _next_alike([end - start for start, end in runs])
    at = run = 0
    while run < len(runs):
        last = next_alike[run]
        if last is not None:
            yield line[at : runs[run][0]], False
            at = runs[last][1]
            yield line[runs[run][0] : at], True
        run = (run if last is None else last) + 1
    yield line[at:], False


def _next_alike(lengths: list[int]) -> list[int | None]:
    """For each length, the index of the next equal one; None: there is none."""
    found: list[int | None] = [None] * len(lengths)
    nearest: dict[int, int] = {}
    for index in range(len(lengths) - 1, -1, -1):
        found[index] = nearest.get(lengths[index])
        nearest[lengths[index]] = index
    return found
