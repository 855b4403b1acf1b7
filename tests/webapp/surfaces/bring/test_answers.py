"""An answer is put together from its events as its whole body tells it, and a stream that breaks off says so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.request import Usage
from tests.webapp.surfaces.bring.streams import CHAT, MESSAGE, RESPONSE, RESPONSES, chunk, sse
from tests.webapp.surfaces.bring.test_kinds import JSON
from webapp.api.surfaces.bring.answers import put_together
from webapp.surfaces.bring.answer import Answer
from webapp.surfaces.bring.kinds import Malformed, StreamedAnswer, Unknown, WholeAnswer, recognised

STREAMS = {"chat": sse(CHAT, done=True), "messages": sse(MESSAGE), "responses": sse(RESPONSES)}


def answer_of(text: str) -> Answer:
    found = recognised(text)
    assert isinstance(found, StreamedAnswer | WholeAnswer)
    return put_together(found)


def told(answer: Answer) -> tuple[str, list[tuple[str, str, str | None]]]:
    choice = answer.choices[0]
    return "".join(choice.text), [(call.name, call.arguments, call.id) for call in choice.calls.values()]


@pytest.mark.parametrize(
    ("kind", "reason", "call_id"),
    [("chat", "tool_calls", "call_1"), ("messages", "tool_use", "toolu_1"), ("responses", "completed", "call_1")],
)
def test_a_stream_becomes_its_answer(kind: str, reason: str, call_id: str) -> None:
    answer = answer_of(STREAMS[kind])
    assert told(answer) == ("It is sunny.", [("clock", '{"zone": "UTC"}', call_id)])
    assert (answer.choices[0].stop_reason, answer.is_cut, answer.error) == (reason, False, None)


def test_its_tokens_are_those_that_it_tells() -> None:
    of_openai = Usage(uncached_input=8, cache_read=32, output=9)
    assert answer_of(STREAMS["chat"]).told.usage == answer_of(STREAMS["responses"]).told.usage == of_openai
    of_anthropic = Usage(uncached_input=8, cache_read=16, cache_write_5m=32, cache_write_1h=16, output=9)
    assert answer_of(STREAMS["messages"]).told.usage == of_anthropic


def test_a_whole_answer_is_the_same_as_its_stream() -> None:
    assert told(answer_of(json.dumps(RESPONSE))) == told(answer_of(STREAMS["responses"]))
    call = {"id": "call_1", "function": {"name": "clock", "arguments": '{"zone": "UTC"}'}}
    message = {"content": "It is sunny.", "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    whole = {"object": "chat.completion", "choices": [choice], "usage": CHAT[-1]["usage"]}
    assert told(answer_of(json.dumps(whole))) == told(answer_of(STREAMS["chat"]))
    assert answer_of(json.dumps(whole)).told == answer_of(STREAMS["chat"]).told


def test_parts_that_are_no_text_are_named() -> None:
    assert answer_of(STREAMS["messages"]).left_out == ["thinking"]
    assert answer_of(STREAMS["responses"]).left_out == ["reasoning"]


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_that_breaks_off_says_so_at_any_character(kind: str) -> None:
    text = STREAMS[kind]
    for end in range(len(text) - 40, 60, -97):
        try:
            answer = answer_of(text[:end])
        except Unknown:
            continue  # too short for its first event
        if kind != "chat":
            assert answer.is_cut, end
        assert "It is sunny.".startswith(told(answer)[0]) if answer.choices else True


def test_a_chat_without_its_end_is_cut() -> None:
    assert answer_of(sse(CHAT[:2])).is_cut
    assert not answer_of(sse([chunk({"content": "Hi"}), chunk({}, "stop")])).is_cut
    assert answer_of(sse(CHAT[:2]) + 'data: {"object": "chat.comp').is_cut


def test_a_cut_message_does_not_tell_its_output() -> None:
    answer = answer_of(sse(MESSAGE[:6]))
    assert (answer.told.num_input, answer.told.num_output, answer.told.usage) == (72, None, None)


def test_an_error_within_the_stream_is_told() -> None:
    broken = [*MESSAGE[:6], {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]
    assert (answer_of(sse(broken)).error, answer_of(sse(broken)).is_cut) == ("Overloaded", True)
    assert answer_of(sse([*CHAT[:2], {"error": {"message": "gone"}}])).error == "gone"


@pytest.mark.parametrize(
    ("usage", "kinds"),
    [
        ({"prompt_tokens": 40, "completion_tokens": 9}, None),
        ({"prompt_tokens": 4, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 5}}, None),
        ({"prompt_tokens": -1, "completion_tokens": True}, None),
    ],
)
def test_what_is_not_told_stays_unknown(usage: dict[str, Any], kinds: None) -> None:
    assert answer_of(json.dumps({"object": "chat.completion", "choices": [], "usage": usage})).told.usage is kinds


def test_written_tokens_without_their_time_have_no_price() -> None:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 32, "output_tokens": 1}
    message = {"type": "message", "role": "assistant", "content": [], "usage": usage}
    found = answer_of(json.dumps(message)).told
    assert (found.num_input, found.num_cache_write, found.usage) == (33, 32, None)


NAMES = ["type", "object", "index", "delta", "message", "choices", "content", "usage", "output", "tool_calls", "error"]
KINDS = ["message_start", "content_block_delta", "response.completed", "chat.completion", "message", "text_delta"]
HOSTILE = st.dictionaries(st.sampled_from(NAMES), JSON | st.sampled_from(KINDS), max_size=6)


@given(st.lists(HOSTILE, min_size=1, max_size=4))
def test_no_stream_breaks_the_reader(values: list[dict[str, Any]]) -> None:
    for first in (CHAT[0], MESSAGE[0], RESPONSES[0]):
        text = "".join(f"data: {json.dumps(each)}\n\n" for each in [first, *values])
        try:
            answer_of(text)
        except (Malformed, Unknown) as refused:
            assert str(refused)
