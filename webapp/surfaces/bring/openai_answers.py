"""Answers of OpenAI's APIs, whole or streamed, as an Answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inference.protocol.request import Usage
from webapp.surfaces.bring.answer import Answer, BroughtCall, Choice, ToldTokens
from webapp.surfaces.bring.reading import number_at, object_at, objects_at, text_at
from webapp.surfaces.bring.sse import Stream


def completion_of(value: Mapping[str, Any]) -> Answer:
    """A chat completion or a completion."""
    answer = Answer()
    _add_chunk(answer, value, "message")
    return answer


def streamed_completion(stream: Stream) -> Answer:
    answer = Answer()
    for event in stream.events:
        _add_chunk(answer, event.value, "delta")
    are_ended = bool(answer.choices) and all(each.stop_reason for each in answer.choices.values())
    answer.is_cut = stream.is_torn or not (stream.has_done or are_ended)
    return answer


def response_of(value: Mapping[str, Any]) -> Answer:
    answer = Answer()
    _set_response(answer, value)
    return answer


def streamed_response(stream: Stream) -> Answer:
    """The last event has the whole response. Without it the pieces are what there is."""
    answer = Answer(is_cut=True)
    for event in stream.events:
        kind = text_at(event.value, "type")
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            answer.is_cut = False
            answer.choices.clear()
            _set_response(answer, object_at(event.value, "response"))
        elif kind == "error":
            answer.error = text_at(event.value, "message") or "an error without words"
        else:
            _add_piece(answer, event.value, kind or "")
    return answer


def _add_chunk(answer: Answer, value: Mapping[str, Any], name: str) -> None:
    answer.model = text_at(value, "model") or answer.model
    if error := object_at(value, "error"):
        answer.error = text_at(error, "message") or "an error without words"
    if usage := object_at(value, "usage"):
        answer.told = _told(usage, "prompt_tokens", "completion_tokens")
    for given in objects_at(value, "choices"):
        choice = answer.choice(number_at(given, "index") or 0)
        choice.stop_reason = text_at(given, "finish_reason") or choice.stop_reason
        said = object_at(given, name)
        choice.text += [text_at(given, "text") or "", text_at(said, "content") or "", text_at(said, "refusal") or ""]
        for place, call in enumerate(objects_at(said, "tool_calls")):
            index = number_at(call, "index")
            _add_call(choice, place if index is None else index, call)


def _add_call(choice: Choice, key: int, given: Mapping[str, Any]) -> None:
    call, function = choice.calls.setdefault(key, BroughtCall()), object_at(given, "function")
    call.id = text_at(given, "id") or call.id
    call.name += text_at(function, "name") or ""
    call.arguments += text_at(function, "arguments") or ""


def _told(usage: Mapping[str, Any], prompt: str, output: str) -> ToldTokens:
    num_input, num_output = number_at(usage, prompt), number_at(usage, output)
    read = number_at(object_at(usage, f"{prompt}_details"), "cached_tokens")
    if num_input is None or num_output is None or read is None or read > num_input:
        return ToldTokens(num_input, read, None, num_output)
    return ToldTokens(
        num_input, read, 0, num_output, Usage(uncached_input=num_input - read, cache_read=read, output=num_output)
    )


def _set_response(answer: Answer, value: Mapping[str, Any]) -> None:
    choice = answer.choice(0)
    answer.model = text_at(value, "model") or answer.model
    answer.told = _told(object_at(value, "usage"), "input_tokens", "output_tokens")
    answer.error = text_at(object_at(value, "error"), "message") or answer.error
    reason = text_at(object_at(value, "incomplete_details"), "reason")
    choice.stop_reason = reason or text_at(value, "status")
    for place, item in enumerate(objects_at(value, "output")):
        _add_item(answer, choice, place, item)


def _add_item(answer: Answer, choice: Choice, place: int, item: Mapping[str, Any]) -> None:
    kind = text_at(item, "type") or "an item without a type"
    if kind == "message":
        choice.text += [text_at(part, "text") or text_at(part, "refusal") or "" for part in objects_at(item, "content")]
    elif kind == "function_call":
        name, arguments = text_at(item, "name") or "", text_at(item, "arguments") or ""
        choice.calls[place] = BroughtCall(name, arguments, text_at(item, "call_id"))
    else:
        answer.leave_out(kind)


def _add_piece(answer: Answer, value: Mapping[str, Any], kind: str) -> None:
    choice, key, delta = answer.choice(0), number_at(value, "output_index"), text_at(value, "delta") or ""
    if kind == "response.created":
        answer.model = text_at(object_at(value, "response"), "model")
    elif kind in ("response.output_text.delta", "response.refusal.delta"):
        choice.text.append(delta)
    elif kind == "response.function_call_arguments.delta":
        choice.calls.setdefault(key, BroughtCall()).arguments += delta
    elif kind == "response.output_item.added" and text_at(object_at(value, "item"), "type") == "function_call":
        item = object_at(value, "item")
        choice.calls[key] = BroughtCall(text_at(item, "name") or "", "", text_at(item, "call_id"))
