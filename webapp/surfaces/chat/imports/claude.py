"""Claude's export: conversations with a list of `chat_messages`. Bytes in, a draft out."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from webapp.surfaces.chat.imports import marks
from webapp.surfaces.chat.imports.tree import Draft, Node, Role


class _Block(msgspec.Struct):
    type: str = "text"
    text: str | None = None


class _Attachment(msgspec.Struct):
    file_name: str | None = None
    extracted_content: str | None = None


class _Message(msgspec.Struct):
    uuid: str
    sender: str
    text: str | None = None
    content: list[_Block] | None = None
    created_at: str | None = None
    parent_message_uuid: str | None = None
    attachments: list[_Attachment] | None = None
    files: list[_Attachment] | None = None


class _Conversation(msgspec.Struct):
    chat_messages: list[_Message]
    name: str | None = None
    model: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    current_leaf_message_uuid: str | None = None


_ROLES: dict[str, Role] = {"human": "user", "assistant": "assistant"}
_MARKS = {
    "tool_use": marks.TOOL_CALL,
    "tool_result": marks.TOOL_RESULT,
    "thinking": marks.REASONING,
    "redacted_thinking": marks.REASONING,
    "image": marks.IMAGE,
}


def read(data: bytes) -> Draft:
    """Read one conversation. Raises msgspec.ValidationError, msgspec.DecodeError."""
    found = msgspec.json.decode(data, type=_Conversation)
    return Draft(
        title=found.name or "",
        nodes=list(_nodes(found)),
        shown=found.current_leaf_message_uuid,
        created_at=marks.moment(found.created_at),
        updated_at=marks.moment(found.updated_at),
    )


def _nodes(found: _Conversation) -> Iterator[Node]:
    """Yield the messages as nodes. Without parent ids, as in older exports, each message follows the previous one."""
    is_tree = any(message.parent_message_uuid for message in found.chat_messages)
    before: str | None = None
    for message in found.chat_messages:
        text = "\n\n".join(piece for piece in _pieces(message) if piece.strip())
        role = _ROLES.get(message.sender, "")
        parent = message.parent_message_uuid if is_tree else before
        model = found.model or "" if role == "assistant" else ""
        yield Node(message.uuid, parent, role, text, marks.moment(message.created_at), model)
        before = message.uuid


def _pieces(message: _Message) -> Iterator[str]:
    blocks = list(map(_block, message.content or []))
    yield from blocks if any(blocks) else [message.text or ""]
    for attachment in message.attachments or []:
        # A long pasted text has no name.
        if attachment.extracted_content:
            yield f"{marks.file_name(attachment.file_name)}{attachment.extracted_content}"
        else:
            yield marks.file_left_out(attachment.file_name)
    for file in message.files or []:
        yield marks.file_left_out(file.file_name)


def _block(block: _Block) -> str:
    if block.type == "text":
        return block.text or ""
    return _MARKS.get(block.type, marks.left_out(block.type))
