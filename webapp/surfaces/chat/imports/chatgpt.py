"""ChatGPT's export: conversations whose messages are nodes of a `mapping`. Bytes in, a draft out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from webapp.surfaces.chat.imports import marks
from webapp.surfaces.chat.imports.tree import Draft, Node, Role


class _Author(msgspec.Struct):
    role: str = ""


class _Content(msgspec.Struct):
    content_type: str = "text"
    parts: list[Any] | None = None
    text: Any = None


class _Message(msgspec.Struct):
    author: _Author
    content: _Content | None = None
    create_time: float | None = None
    weight: float | None = None
    recipient: str | None = None
    metadata: dict[str, Any] | None = None


class _Node(msgspec.Struct):
    message: _Message | None = None
    parent: str | None = None


class _Conversation(msgspec.Struct):
    mapping: dict[str, _Node]
    title: str | None = None
    create_time: float | None = None
    update_time: float | None = None
    current_node: str | None = None


def read(data: bytes) -> Draft:
    """Read one conversation. Raises msgspec.ValidationError, msgspec.DecodeError."""
    found = msgspec.json.decode(data, type=_Conversation)
    return Draft(
        title=found.title or "",
        nodes=[_node(node_id, node) for node_id, node in found.mapping.items()],
        shown=found.current_node,
        created_at=marks.moment(found.create_time),
        updated_at=marks.moment(found.update_time),
    )


def _node(node_id: str, node: _Node) -> Node:
    message = node.message
    if message is None or message.content is None or _is_hidden(message):
        return Node(node_id, node.parent, "", "")
    text = "\n\n".join(piece for piece in _pieces(message, message.content) if piece.strip())
    model = (message.metadata or {}).get("model_slug")
    at = marks.moment(message.create_time)
    return Node(node_id, node.parent, _role(message), text, at, model if isinstance(model, str) else "")


def _is_hidden(message: _Message) -> bool:
    return message.weight == 0 or bool((message.metadata or {}).get("is_visually_hidden_from_conversation"))


def _role(message: _Message) -> Role:
    """The message's role; a tool's result is a piece of the answer that called the tool."""
    roles: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "assistant"}
    return roles.get(message.author.role, "")


def _pieces(message: _Message, content: _Content) -> Iterator[str]:
    if content.content_type == "multimodal_text":
        yield from map(_part, content.parts or [])
    elif message.author.role == "tool":
        yield marks.TOOL_RESULT
    elif message.author.role == "assistant" and message.recipient not in (None, "", "all"):
        yield marks.TOOL_CALL
    elif content.content_type in _HIDDEN:
        yield ""
    elif content.content_type in _MARKS:
        yield _MARKS[content.content_type]
    elif content.content_type == "code" and isinstance(content.text, str):
        yield f"```\n{content.text}\n```"
    elif content.content_type == "text":
        yield from map(_part, content.parts or [])
    else:
        yield marks.left_out(content.content_type)
    attachments = (message.metadata or {}).get("attachments")
    for each in attachments if isinstance(attachments, list) else []:
        yield marks.file_left_out(each.get("name") if isinstance(each, dict) else None)


_HIDDEN = {"user_editable_context", "model_editable_context", "reasoning_recap"}
_MARKS = {"thoughts": marks.REASONING, "execution_output": marks.TOOL_RESULT}


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    kind = part.get("content_type") if isinstance(part, dict) else None
    if isinstance(part, dict) and kind in ("text", "audio_transcription") and isinstance(part.get("text"), str):
        return str(part["text"])
    known = {
        "image_asset_pointer": marks.IMAGE,
        "audio_asset_pointer": marks.RECORDING,
        "real_time_user_audio_video_asset_pointer": marks.RECORDING,
    }
    return known.get(kind, marks.left_out(kind)) if isinstance(kind, str) else marks.left_out("part")
