"""A response and its events, as structs in OpenAI's form."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Status = Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]
ItemStatus = Literal["in_progress", "completed", "incomplete"]


class TopLogprob(msgspec.Struct):
    token: str
    logprob: float
    bytes: list[int]


class Logprob(msgspec.Struct):
    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[TopLogprob]


class OutputText(msgspec.Struct, frozen=True):
    text: str
    logprobs: tuple[Logprob, ...] = ()
    annotations: tuple[Any, ...] = ()
    type: str = "output_text"


class MessageItem(msgspec.Struct, frozen=True, tag="message"):
    id: str
    status: ItemStatus
    content: tuple[OutputText, ...]
    role: str = "assistant"


class CallItem(msgspec.Struct, frozen=True, tag="function_call"):
    id: str
    status: ItemStatus
    call_id: str
    name: str
    arguments: str


class ReasoningText(msgspec.Struct, frozen=True):
    text: str
    type: str = "reasoning_text"


class ReasoningItem(msgspec.Struct, frozen=True, tag="reasoning"):
    id: str
    status: ItemStatus
    content: tuple[ReasoningText, ...] = ()
    summary: tuple[Any, ...] = ()


Item = ReasoningItem | MessageItem | CallItem


class InputDetails(msgspec.Struct):
    cached_tokens: int
    cache_write_tokens: int


class OutputDetails(msgspec.Struct):
    reasoning_tokens: int = 0


class Usage(msgspec.Struct):
    input_tokens: int
    input_tokens_details: InputDetails
    output_tokens: int
    output_tokens_details: OutputDetails
    total_tokens: int


class Error(msgspec.Struct):
    code: str
    message: str


class Incomplete(msgspec.Struct):
    reason: Literal["max_output_tokens", "content_filter"]


class Response(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    created_at: int
    status: Status
    background: bool
    completed_at: int | None = None
    error: Error | None = None
    incomplete_details: Incomplete | None = None
    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    metadata: dict[str, str]
    model: str
    output: tuple[Item, ...] = ()
    parallel_tool_calls: bool
    previous_response_id: str | None
    prompt_cache_key: str | None
    prompt_cache_options: dict[str, str] | None = None
    """Those that were applied."""
    prompt_cache_retention: str = "in_memory"
    """What the prefix cache does, whatever the client allowed."""
    reasoning: dict[str, Any]
    safety_identifier: str | None
    service_tier: str = "default"
    store: bool
    temperature: float
    text: dict[str, Any]
    tool_choice: Any
    tools: list[Any]
    top_logprobs: int
    top_p: float
    truncation: str
    usage: Usage | None = None
    user: str | None
    object: str = "response"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Base of a stream's events, which are numbered from 0."""

    type: str
    sequence_number: int


class ResponseEvent(Event, frozen=True, kw_only=True):
    response: Response


class ItemEvent(Event, frozen=True, kw_only=True):
    output_index: int
    item: Item


class PartEvent(Event, frozen=True, kw_only=True):
    item_id: str
    output_index: int
    content_index: int
    part: OutputText | ReasoningText


class TextDelta(Event, frozen=True, kw_only=True):
    item_id: str
    output_index: int
    content_index: int
    delta: str
    logprobs: tuple[Logprob, ...]


class TextDone(Event, frozen=True, kw_only=True):
    item_id: str
    output_index: int
    content_index: int
    text: str
    logprobs: tuple[Logprob, ...]


class ReasoningDelta(Event, frozen=True, kw_only=True):
    item_id: str
    output_index: int
    content_index: int
    delta: str


class ReasoningDone(Event, frozen=True, kw_only=True):
    item_id: str
    output_index: int
    content_index: int
    text: str


class ArgumentsDelta(Event, frozen=True, kw_only=True):
    item_id: str
    output_index: int
    delta: str


class ArgumentsDone(Event, frozen=True, kw_only=True):
    item_id: str
    output_index: int
    name: str
    arguments: str


class ErrorEvent(Event, frozen=True, kw_only=True):
    code: str | None
    message: str
    param: str | None
