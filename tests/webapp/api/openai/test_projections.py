"""OpenAI's own client puts a stream together, and gets the whole answer: of recorded logs, and of any answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types import Completion
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from inference.protocol.events import AnyEvent, RequestCancelled, RequestFailed, RequestFinished
from inference.protocol.request import FinishReason, SamplingParams
from tests.webapp.api.openai.golden_logs import NAMES, PLACES, answers, cut, events_of, framed, spoken, whole
from webapp.api.openai.chat_projection import ChoiceProjection, Chunk, Head
from webapp.api.openai.chat_projection import choice_of as chat_choice
from webapp.api.openai.completions_projection import CompletionProjection
from webapp.api.openai.completions_projection import choice_of as completion_choice
from webapp.api.openai.responses.head import projection_of
from webapp.api.openai.responses.projection import ResponseProjection
from webapp.api.openai.responses.shapes import ResponseBody
from webapp.requests.models import Request

HEAD = Head("chatcmpl-1", 1, "m", num_top_logprobs=2)
EVENT: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)


def builtins(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def chat() -> ChoiceProjection:
    return ChoiceProjection(HEAD, 0, "call_1")


def completion() -> CompletionProjection:
    return CompletionProjection(HEAD, 0, echoed="Said: ")


def response(**fields: Any) -> ResponseProjection:
    params = msgspec.to_builtins(SamplingParams())
    request = Request(id="req_1", model="m", params=params, accepted_unix_us=10**15)
    body = ResponseBody(model="m", input="x", top_logprobs=2, include=("message.output_text.logprobs",), **fields)
    return projection_of(request, body)


def test_all_ends_are_recorded() -> None:
    assert {"blocked", "cut_call", "finished", "lost", "one_call", "stopped", "taken_over", "text"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(places=PLACES)
def test_a_chat_stream_adds_up_to_the_whole_answer(name: str, places: list[int]) -> None:
    check_chat(framed(events_of(name), places))


@given(data=st.data())
def test_a_chat_stream_of_any_text_and_calls_adds_up(data: st.DataObject) -> None:
    text, calls = data.draw(answers())
    frames = framed(spoken(data.draw(cut(whole(text, calls)))), data.draw(PLACES))
    message = check_chat(frames)
    assert (message["content"] or "") == text
    assert [
        (each["function"]["name"], each["function"]["arguments"]) for each in message.get("tool_calls", ())
    ] == calls


def check_chat(frames: Sequence[Sequence[AnyEvent]]) -> Any:
    """The client's sum of the chunks equals the whole answer, whose message is returned."""
    told = builtins(chat_choice(chat(), [event for frame in frames for event in frame]))
    projection = chat()
    chunks = [Chunk("chatcmpl-1", 1, "m", [choice]) for frame in frames for choice in projection.feed(frame)]
    if projection.ended is None:
        assert projection.failed is not None
        return told["message"]
    state = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(ChatCompletionChunk.model_validate(builtins(chunk)))
    summed = state.current_completion_snapshot.choices[0].to_dict()
    assert summed["finish_reason"] == told["finish_reason"]
    assert (summed["message"].get("content") or "") == (told["message"]["content"] or "")
    assert [without(each, "index", "parsed_arguments") for each in nested(summed)] == nested(told)
    logprobs = (summed.get("logprobs") or {}).get("content") or []
    assert logprobs == told["logprobs"]["content"]
    return told["message"]


def nested(choice: Any) -> list[Any]:
    return list(choice["message"].get("tool_calls") or [])


def without(call: Any, *names: str) -> Any:
    function = {name: value for name, value in call["function"].items() if name not in names}
    return {name: value for name, value in call.items() if name not in names} | {"function": function}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(places=PLACES)
def test_a_completion_stream_adds_up_to_the_whole_text(name: str, places: list[int]) -> None:
    events = events_of(name)
    projection = completion()
    chunks = [choice for frame in framed(events, places) for choice in projection.feed(frame)]
    told = completion_choice(completion(), events)
    assert "".join(chunk.text for chunk in chunks) == told.text
    assert ([chunk.finish_reason for chunk in chunks if chunk.finish_reason] or [None]) == [told.finish_reason]
    offsets = [offset for chunk in chunks if chunk.logprobs for offset in chunk.logprobs.text_offset]
    assert told.logprobs is not None
    assert offsets == told.logprobs.text_offset == sorted(offsets)
    body = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m"}
    if projection.ended is not None:
        Completion.model_validate(body | {"choices": [builtins(told)]}, strict=True)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(places=PLACES, background=st.booleans())
def test_a_response_stream_adds_up_to_the_whole_response(name: str, places: list[int], background: bool) -> None:
    check_response(framed(events_of(name), places), background)


@given(data=st.data())
def test_a_response_stream_of_any_text_and_calls_adds_up(data: st.DataObject) -> None:
    text, calls = data.draw(answers())
    reason: FinishReason = data.draw(st.sampled_from(["stop", "length", "content_filter"]))
    frames = framed(spoken(data.draw(cut(whole(text, calls))), reason), data.draw(PLACES))
    found = check_response(frames)
    assert found.output_text == text
    assert [(each.name, each.arguments) for each in found.output if each.type == "function_call"] == calls
    assert found.status == ("completed" if reason == "stop" else "incomplete")


def check_response(frames: Sequence[Sequence[AnyEvent]], background: bool = False) -> Response:
    """The client's sum of the events equals the last event's response, and what a later reader gets."""
    projection = response(background=background)
    events = [builtins(event) for frame in frames for event in projection.feed(frame)]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    state: ResponseStreamState[None] = ResponseStreamState(input_tools=openai.omit, text_format=openai.omit)
    for event in events:
        state.handle_event(EVENT.validate_python(event))
    last = events[-1]["response"]
    assert last == builtins(projection.response) == whole_response(frames, background)
    summed = state.accumulate_event(EVENT.validate_python(events[-1])).output
    assert [contents(each) for each in summed] == [contents(each) for each in Response.model_validate(last).output]
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == last["output"]
    return Response.model_validate(last)


def whole_response(frames: Sequence[Sequence[AnyEvent]], background: bool) -> Any:
    projection = response(background=background)
    projection.feed([event for frame in frames for event in frame])
    return builtins(projection.response)


def contents(item: Any) -> Any:
    if item.type == "message":
        return item.id, [part.text for part in item.content]
    return item.id, item.call_id, item.name, item.arguments


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_in_the_middle_sees_the_beginning_of_the_whole(name: str) -> None:
    events = events_of(name)
    whole_text = whole_response([events], background=True)["output"]
    for end in range(0, len(events), 7):
        projection = response(background=True)
        projection.feed(events[:end])
        for before, after in zip(builtins(projection.response)["output"], whole_text, strict=False):
            assert before["id"] == after["id"]
            if before["type"] == "message":
                told = "".join(part["text"] for part in before["content"])
                assert after["content"][0]["text"].startswith(told)


@pytest.mark.parametrize(
    ("name", "status", "finish"),
    [
        ("finished", "completed", "stop"),
        ("one_call", "completed", "tool_calls"),
        ("cut_call", "incomplete", "length"),
        ("blocked", "incomplete", "content_filter"),
        ("stopped", "cancelled", "stop"),
        ("lost", "failed", None),
    ],
)
def test_each_end_has_its_word(name: str, status: str, finish: str | None) -> None:
    events = events_of(name)
    assert whole_response([events], background=False)["status"] == status
    projection = chat()
    reasons = [choice.finish_reason for choice in projection.feed(events) if choice.finish_reason]
    assert reasons == ([finish] if finish else [])


def test_an_open_log_is_a_response_in_progress() -> None:
    events = [e for e in events_of("text") if not isinstance(e, RequestFinished | RequestFailed | RequestCancelled)]
    projection = response(background=True)
    projection.feed(events)
    told = projection.response
    assert (told.status, told.output[0].status, told.usage) == ("in_progress", "in_progress", None)
