"""Anthropic's message and the events of its stream, as they go over the wire. Knows nothing of how they come about."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from webapp.api.anthropic.errors import ErrorAnswer

StopReason = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal", "model_context_window_exceeded"]
Known = int | msgspec.UnsetType
"""A number of tokens; it is left out where it is not known."""


class CacheCreation(msgspec.Struct):
    """Tokens written to the cache, by their time to live."""

    ephemeral_5m_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0


class OutputDetails(msgspec.Struct):
    """Parts of the output."""

    thinking_tokens: int


class Usage(msgspec.Struct):
    """Tokens of a message. The input is the sum of the three that are not output."""

    input_tokens: int
    """Neither read from the cache nor written to it."""
    output_tokens: int
    cache_creation_input_tokens: Known = msgspec.UNSET
    cache_read_input_tokens: Known = msgspec.UNSET
    cache_creation: CacheCreation | msgspec.UnsetType = msgspec.UNSET
    service_tier: str = "standard"
    output_tokens_details: OutputDetails | msgspec.UnsetType = msgspec.UNSET


class DeltaUsage(msgspec.Struct):
    """All tokens so far."""

    output_tokens: int
    input_tokens: int
    cache_creation_input_tokens: Known = msgspec.UNSET
    cache_read_input_tokens: Known = msgspec.UNSET
    output_tokens_details: OutputDetails | msgspec.UnsetType = msgspec.UNSET


class ThinkingBlock(msgspec.Struct, tag="thinking"):
    thinking: str = ""
    signature: str = ""


class TextBlock(msgspec.Struct, tag="text"):
    text: str = ""
    citations: None = None


class ToolUseBlock(msgspec.Struct, tag="tool_use"):
    id: str
    name: str
    input: dict[str, Any]


class Refusal(msgspec.Struct, tag="refusal"):
    """The reason why the answer was withheld. The site's categories are not Anthropic's."""

    explanation: str | None
    category: None = None


class Message(msgspec.Struct, tag="message"):
    id: str
    model: str
    usage: Usage
    content: list[ThinkingBlock | TextBlock | ToolUseBlock]
    stop_reason: StopReason | None = None
    stop_sequence: str | None = None
    stop_details: Refusal | None = None
    role: str = "assistant"


class MessageStart(msgspec.Struct, tag="message_start"):
    message: Message


class BlockStart(msgspec.Struct, tag="content_block_start"):
    index: int
    content_block: ThinkingBlock | TextBlock | ToolUseBlock


class ThinkingDelta(msgspec.Struct, tag="thinking_delta"):
    thinking: str


class SignatureDelta(msgspec.Struct, tag="signature_delta"):
    signature: str


class TextDelta(msgspec.Struct, tag="text_delta"):
    text: str


class InputDelta(msgspec.Struct, tag="input_json_delta"):
    partial_json: str


class BlockDelta(msgspec.Struct, tag="content_block_delta"):
    index: int
    delta: ThinkingDelta | SignatureDelta | TextDelta | InputDelta


class BlockStop(msgspec.Struct, tag="content_block_stop"):
    index: int


class StopDelta(msgspec.Struct):
    stop_reason: StopReason
    stop_sequence: str | None = None
    stop_details: Refusal | None = None


class MessageDelta(msgspec.Struct, tag="message_delta"):
    delta: StopDelta
    usage: DeltaUsage


class MessageStop(msgspec.Struct, tag="message_stop"):
    pass


class Ping(msgspec.Struct, tag="ping"):
    pass


StreamEvent = MessageStart | BlockStart | BlockDelta | BlockStop | MessageDelta | MessageStop | Ping


def frame(event: StreamEvent | ErrorAnswer) -> bytes:
    """Return the server-sent event, whose name is the type of its data."""
    return b"event: %s\ndata: %s\n\n" % (str(event.__struct_config__.tag).encode(), msgspec.json.encode(event))
