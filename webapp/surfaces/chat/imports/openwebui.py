"""Open WebUI's files: chats whose messages hang in `history.messages`. Bytes in, a draft out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from webapp.surfaces.chat.imports import marks
from webapp.surfaces.chat.imports.tree import Draft, Node, Role

_DETAILS_END = "</details>"


class _Message(msgspec.Struct, rename="camel"):
    role: str
    content: Any = None
    id: str | None = None
    parent_id: str | None = None
    timestamp: float | None = None
    model: str | None = None
    files: list[Any] | None = None


class _History(msgspec.Struct, rename="camel"):
    messages: dict[str, _Message] = {}
    current_id: str | None = None


class _Params(msgspec.Struct):
    system: str | None = None


class _Chat(msgspec.Struct):
    title: str | None = None
    history: _History | None = None
    messages: list[_Message] = []
    system: str | None = None
    params: _Params | None = None
    timestamp: float | None = None


class _Row(msgspec.Struct):
    chat: _Chat
    title: str | None = None
    created_at: float | None = None
    updated_at: float | None = None
    pinned: bool | None = None


def read(data: bytes) -> Draft:
    """Read a row with its chat. Raises msgspec.ValidationError, msgspec.DecodeError."""
    return _draft(msgspec.json.decode(data, type=_Row))


def read_chat(data: bytes) -> Draft:
    """Read a chat without a row. Raises as read."""
    return _draft(_Row(msgspec.json.decode(data, type=_Chat)))


def _draft(row: _Row) -> Draft:
    chat = row.chat
    system = (chat.params.system if chat.params else None) or chat.system
    return Draft(
        title=row.title or chat.title or "",
        nodes=list(_nodes(chat)),
        shown=chat.history.current_id if chat.history else None,
        created_at=marks.moment(row.created_at) or marks.moment(chat.timestamp),
        updated_at=marks.moment(row.updated_at),
        system_prompt=system or "",
        is_pinned=bool(row.pinned),
    )


def _nodes(chat: _Chat) -> Iterator[Node]:
    """Yield the tree's nodes; without a tree, the list's."""
    if chat.history is not None and chat.history.messages:
        for key, message in chat.history.messages.items():
            yield _node(key, message.parent_id, message)
        return
    for index, message in enumerate(chat.messages):
        yield _node(str(index), str(index - 1), message)


def _node(node_id: str, parent: str | None, message: _Message) -> Node:
    roles: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "assistant"}
    text = "\n\n".join(piece for piece in _pieces(message) if piece.strip())
    return Node(
        node_id, parent, roles.get(message.role, ""), text, marks.moment(message.timestamp), message.model or ""
    )


def _pieces(message: _Message) -> Iterator[str]:
    if message.role == "tool":
        yield marks.TOOL_RESULT
    elif isinstance(message.content, str):
        yield without_details(message.content)
    elif isinstance(message.content, list):
        yield from map(_part, message.content)
    elif message.content is not None:
        yield marks.left_out("part")
    for file in message.files or []:
        is_image = isinstance(file, dict) and file.get("type") == "image"
        yield marks.IMAGE if is_image else marks.file_left_out(file.get("name") if isinstance(file, dict) else None)


def _part(part: object) -> str:
    if not isinstance(part, dict):
        return part if isinstance(part, str) else marks.left_out("part")
    if part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    return marks.IMAGE if part.get("type") == "image_url" else marks.left_out(str(part.get("type")))


def without_details(text: str) -> str:
    """Replace reasoning and tool calls, which Open WebUI keeps inside an answer as foldable HTML."""
    for kind, mark in (("reasoning", marks.REASONING), ("tool_calls", marks.TOOL_CALL)):
        text = _without(text, f'<details type="{kind}"', mark)
    return text


def _without(text: str, opening: str, mark: str) -> str:
    pieces, at = list[str](), 0
    while (start := text.find(opening, at)) >= 0 and (end := text.find(_DETAILS_END, start)) >= 0:
        pieces += [text[at:start], mark]
        at = end + len(_DETAILS_END)
    return "".join([*pieces, text[at:]])
