"""Tells what a person brought, by its shape: a request or an answer, and of which API. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from webapp.surfaces.bring.json_text import Malformed, parse
from webapp.surfaces.bring.sse import Event, Stream, read_stream

Kind = Literal["chat", "completions", "responses", "messages"]
"""OpenAI's chat completions, completions and responses, and Anthropic's messages."""

_STREAM_LINE = re.compile(r"\s*(?::|(?:event|data|id|retry)(?::|$))")
_OF_CHAT = {
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "n",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "seed",
    "stop",
    "store",
    "stream_options",
    "top_logprobs",
    "user",
}
"""Fields of a chat completion that a message of Anthropic's has not."""
_OF_MESSAGES = {"cache_control", "output_config", "stop_sequences", "system", "thinking"}
_BLOCKS = {"document", "image", "redacted_thinking", "search_result", "thinking", "tool_result", "tool_use"}
"""Kinds of Anthropic's blocks that OpenAI's messages have not."""
_ANSWERS: dict[str, Kind] = {"chat.completion": "chat", "text_completion": "completions", "response": "responses"}


class Unknown(Exception):
    """The text is none of what can be taken apart. The message says what it lacks."""


@dataclass(frozen=True)
class Body:
    """The body of a request."""

    kind: Kind
    is_certain: bool
    """False: a body of this shape may also be of the other family."""


@dataclass(frozen=True)
class WholeAnswer:
    """The body of an answer."""

    kind: Kind
    value: Mapping[str, Any]


@dataclass(frozen=True)
class StreamedAnswer:
    """The events of an answer."""

    kind: Kind
    stream: Stream


def recognised(text: str) -> Body | WholeAnswer | StreamedAnswer:
    """Raises Malformed, Unknown."""
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise Unknown("There is no text yet. Paste a request's body, an answer, or a recorded event stream.")
    if _STREAM_LINE.match(text):
        stream = read_stream(text.lstrip())
        return StreamedAnswer(_kind_of_stream(stream.events), stream)
    value = parse(text)
    if not isinstance(value, dict):
        raise Unknown("The text is JSON, but no object in braces. Paste the whole body.")
    kind = _kind_of_answer(value)
    return _body(value) if kind is None else WholeAnswer(kind, value)


def _kind_of_answer(value: Mapping[str, Any]) -> Kind | None:
    named = value.get("object")
    if isinstance(named, str) and named in _ANSWERS:
        return _ANSWERS[named]
    is_message = value.get("type") == "message" and value.get("role") == "assistant"
    return "messages" if is_message and isinstance(value.get("content"), list) else None


def _kind_of_stream(events: tuple[Event, ...]) -> Kind:
    for event in events:
        told, named = event.value.get("type"), event.value.get("object")
        if named == "chat.completion.chunk":
            return "chat"
        if named == "text_completion":
            return "completions"
        if isinstance(told, str) and told.startswith("response."):
            return "responses"
        if told in ("message_start", "content_block_start", "content_block_delta", "message_delta"):
            return "messages"
    raise Unknown("The stream has no event of an answer of OpenAI's or Anthropic's APIs.")


def _body(value: Mapping[str, Any]) -> Body:
    if "messages" in value:
        is_chat, is_messages = _looks_like_chat(value), _looks_like_messages(value)
        kind: Kind = "messages" if is_messages and not is_chat else "chat"
        return Body(kind, is_chat != is_messages)
    if "prompt" in value:
        return Body("completions", is_certain=True)
    if "input" in value or "previous_response_id" in value:
        return Body("responses", is_certain=True)
    raise Unknown("The object has none of messages, prompt and input, so that it is no request's body.")


def _looks_like_chat(value: Mapping[str, Any]) -> bool:
    return (
        bool(_OF_CHAT & value.keys())
        or _any(value, "messages", lambda each: each.get("role") in ("developer", "tool") or "tool_calls" in each)
        or _any(value, "tools", lambda each: "function" in each)
        or isinstance(value.get("tool_choice"), str)
        or _first_role(value) == "system"
    )


def _looks_like_messages(value: Mapping[str, Any]) -> bool:
    return (
        bool(_OF_MESSAGES & value.keys())
        or _any(value, "messages", lambda each: _any(each, "content", _is_block))
        or _any(value, "tools", lambda each: "input_schema" in each)
    )


def _is_block(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return "cache_control" in part or (isinstance(kind, str) and kind in _BLOCKS)


def _first_role(value: Mapping[str, Any]) -> object:
    messages = value.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    return first.get("role") if isinstance(first, dict) else None


def _any(value: Mapping[str, Any], name: str, holds: Callable[[Mapping[str, Any]], bool]) -> bool:
    """True if it holds for one of the objects in the list of this name."""
    found = value.get(name)
    return isinstance(found, list) and any(holds(each) for each in found if isinstance(each, dict))


__all__ = ["Body", "Kind", "Malformed", "StreamedAnswer", "Unknown", "WholeAnswer", "recognised"]
