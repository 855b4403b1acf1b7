"""Answers of Anthropic's messages, whole or streamed, as an Answer. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from inference.protocol.request import Usage
from webapp.surfaces.bring.answer import Answer, BroughtCall, Choice, ToldTokens
from webapp.surfaces.bring.reading import number_at, object_at, objects_at, text_at
from webapp.surfaces.bring.sse import Stream


def message_of(value: Mapping[str, Any]) -> Answer:
    answer = Answer(model=text_at(value, "model"))
    choice = answer.choice(0)
    choice.stop_reason = text_at(value, "stop_reason")
    answer.told = _told(object_at(value, "usage"))
    for place, block in enumerate(objects_at(value, "content")):
        _begin(answer, choice, place, block)
    return answer


def streamed_message(stream: Stream) -> Answer:
    answer, usage = Answer(is_cut=True), dict[str, Any]()
    choice = answer.choice(0)
    for event in stream.events:
        value, place = event.value, number_at(event.value, "index")
        match text_at(value, "type"):
            case "message_start":
                begun = object_at(value, "message")
                answer.model = text_at(begun, "model")
                usage |= object_at(begun, "usage")
            case "content_block_start":
                _begin(answer, choice, place, object_at(value, "content_block"))
            case "content_block_delta":
                _go_on(choice, place, object_at(value, "delta"))
            case "message_delta":
                choice.stop_reason = text_at(object_at(value, "delta"), "stop_reason") or choice.stop_reason
                usage |= object_at(value, "usage")
            case "message_stop":
                answer.is_cut = False
            case "error":
                answer.error = text_at(object_at(value, "error"), "message") or "an error without words"
    # What it begins with is the least that it will cost; only the end tells the output.
    answer.told = _told(
        {name: number for name, number in usage.items() if not (answer.is_cut and name == "output_tokens")}
    )
    return answer


def _begin(answer: Answer, choice: Choice, place: int | None, block: Mapping[str, Any]) -> None:
    kind = text_at(block, "type") or "a block without a type"
    if kind == "text":
        choice.text.append(text_at(block, "text") or "")
    elif kind == "tool_use":
        given = object_at(block, "input")
        arguments = json.dumps(given, ensure_ascii=False) if given else ""
        choice.calls[place] = BroughtCall(text_at(block, "name") or "", arguments, text_at(block, "id"))
    else:
        answer.leave_out(kind)


def _go_on(choice: Choice, place: int | None, delta: Mapping[str, Any]) -> None:
    kind = text_at(delta, "type")
    if kind == "text_delta":
        choice.text.append(text_at(delta, "text") or "")
    elif kind == "input_json_delta" and place in choice.calls:
        choice.calls[place].arguments += text_at(delta, "partial_json") or ""


def _told(usage: Mapping[str, Any]) -> ToldTokens:
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    uncached, read, written, output = (number_at(usage, name) for name in names)
    if uncached is None or read is None or written is None:
        return ToldTokens(None, read, written, output)
    return ToldTokens(
        uncached + read + written, read, written, output, _by_kind(usage, uncached, read, written, output)
    )


def _by_kind(usage: Mapping[str, Any], uncached: int, read: int, written: int, output: int | None) -> Usage | None:
    """None: the output is not told, or not the times for which the written tokens are kept."""
    split = object_at(usage, "cache_creation")
    short, long = number_at(split, "ephemeral_5m_input_tokens"), number_at(split, "ephemeral_1h_input_tokens")
    if written == 0:
        short = long = 0
    if output is None or short is None or long is None or short + long != written:
        return None
    return Usage(uncached_input=uncached, cache_read=read, cache_write_5m=short, cache_write_1h=long, output=output)
