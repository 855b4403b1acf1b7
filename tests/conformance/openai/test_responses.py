"""Responses by OpenAI's client."""

from __future__ import annotations

import json
import uuid
from typing import Any

import openai
import pytest
from openai.types.responses import FunctionToolParam, Response
from pydantic import BaseModel

from tests.conformance.openai.conftest import MODEL

WEATHER: FunctionToolParam = {
    "type": "function",
    "name": "weather",
    "description": "The weather of a city.",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
LONG = "Write a very long story about the sea."


def test_an_answer_can_be_read_again(client: openai.OpenAI) -> None:
    answer = client.responses.create(
        model=MODEL, input="What is the capital of France?", temperature=0, metadata={"a": "b"}
    )
    assert (answer.status, answer.metadata, answer.incomplete_details) == ("completed", {"a": "b"}, None)
    assert answer.output_text
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens
    assert client.responses.retrieve(answer.id) == answer
    (item,) = client.responses.input_items.list(answer.id)
    assert item.type == "message" and item.content[0].to_dict()["text"] == "What is the capital of France?"


def test_a_deleted_one_cannot(client: openai.OpenAI) -> None:
    answer = client.responses.create(model=MODEL, input="Hi", max_output_tokens=4)
    client.responses.delete(answer.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(answer.id)


def test_nor_one_that_was_not_stored(client: openai.OpenAI) -> None:
    answer = client.responses.create(model=MODEL, input="Hi", max_output_tokens=4, store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(answer.id)


def test_an_answer_follows_another(client: openai.OpenAI) -> None:
    """As if the client had sent the whole conversation. Instructions are not carried over."""
    asked = "What is the capital of France?"
    first = client.responses.create(model=MODEL, input=asked, instructions="Be brief.", temperature=0)
    second = client.responses.create(model=MODEL, input="And of Italy?", previous_response_id=first.id, temperature=0)
    assert second.previous_response_id == first.id
    third = client.responses.create(model=MODEL, input="Why?", previous_response_id=second.id, temperature=0)
    told: list[Any] = [{"role": "user", "content": asked}, *first.output, {"role": "user", "content": "And of Italy?"}]
    told += [*second.output, {"role": "user", "content": "Why?"}]
    whole = client.responses.create(model=MODEL, input=told, temperature=0)
    assert (third.output_text, tokens_of(third)) == (whole.output_text, tokens_of(whole))


def tokens_of(answer: Response) -> int:
    assert answer.usage is not None
    return answer.usage.input_tokens


def test_an_answer_follows_none_that_is_not_there(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model=MODEL, input="x", previous_response_id="resp_none")
    assert refused.value.code == "previous_response_not_found"


def test_a_stream_is_numbered_and_adds_up(client: openai.OpenAI) -> None:
    with client.responses.stream(
        model=MODEL, input="What is the capital of France?", temperature=0, include=["message.output_text.logprobs"]
    ) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = [event.type for event in events if event.type != "response.output_text.delta"]
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == final.output_text == client.responses.retrieve(final.id).output_text
    tokens = [each.token for event in events if event.type == "response.output_text.delta" for each in event.logprobs]
    assert "".join(tokens) == text


class Person(BaseModel):
    name: str
    age: int


def test_a_parsed_answer(client: openai.OpenAI) -> None:
    answer = client.responses.parse(
        model=MODEL, input="Anna is 30.", text_format=Person, temperature=0, max_output_tokens=60
    )
    assert answer.output_parsed == Person(name="Anna", age=30)


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "weather"}])
def test_a_tool_is_called_and_its_result_read(client: openai.OpenAI, choice: Any) -> None:
    asked = "What is the weather in Paris?"
    first = client.responses.create(
        model=MODEL, input=asked, tools=[WEATHER], tool_choice=choice, parallel_tool_calls=False, temperature=0
    )
    (call,) = first.output
    assert call.type == "function_call" and json.loads(call.arguments) == {"city": "Paris"}
    told: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "12 degrees, rain"}
    ways: list[dict[str, Any]] = [
        {"previous_response_id": first.id, "input": [told]},
        {"input": [{"role": "user", "content": asked}, *first.output, told]},
        {"input": [{"role": "user", "content": asked}, {"type": "item_reference", "id": call.id or ""}, told]},
    ]
    answers = [
        client.responses.create(
            model=MODEL, tools=[WEATHER], tool_choice="none", temperature=0, max_output_tokens=24, **way
        )
        for way in ways
    ]
    assert len({answer.output_text for answer in answers}) == 1
    assert len({answer.usage.input_tokens for answer in answers if answer.usage}) == 1


def test_a_streamed_call(client: openai.OpenAI) -> None:
    with client.responses.stream(
        model=MODEL,
        input="What is the weather in Paris?",
        tools=[WEATHER],
        tool_choice="required",
        parallel_tool_calls=False,
        temperature=0,
    ) as stream:
        events = list(stream)
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert json.loads("".join(deltas)) == {"city": "Paris"}
    assert stream.get_final_response().output[0].type == "function_call"


def test_the_background_is_polled(client: openai.OpenAI) -> None:
    answer = client.responses.create(model=MODEL, input=LONG, background=True, max_output_tokens=60)
    assert answer.status == "queued"
    seen = [answer]
    while seen[-1].status in ("queued", "in_progress"):
        seen.append(client.responses.retrieve(answer.id))
    assert (seen[-1].status, seen[-1].incomplete_details is not None) == ("incomplete", True)
    texts = [each.output_text for each in seen]
    assert all(texts[-1].startswith(text) for text in texts)


def test_a_stream_that_was_cut_is_resumed(client: openai.OpenAI) -> None:
    stream = client.responses.create(model=MODEL, input=LONG, background=True, stream=True, max_output_tokens=200)
    seen = [next(iter(stream)) for _ in range(8)]
    stream.close()
    rest = list(resumed(client, seen[0].response.id, seen[-1].sequence_number))
    again = list(resumed(client, seen[0].response.id, None))
    assert [event.to_dict() for event in (*seen, *rest)] == [event.to_dict() for event in again]
    assert rest[-1].type == "response.incomplete"
    assert rest[-1].response == client.responses.retrieve(seen[0].response.id)


def resumed(client: openai.OpenAI, response_id: str, after: int | None) -> Any:
    fields = {} if after is None else {"starting_after": after}
    return client.responses.retrieve(response_id, stream=True, **fields)


def test_the_background_is_cancelled(client: openai.OpenAI) -> None:
    stream = client.responses.create(model=MODEL, input=LONG, background=True, stream=True, max_output_tokens=4000)
    for event in stream:
        if event.type == "response.output_text.delta":
            break
    response_id = client_id(client, stream)
    stopped = client.responses.cancel(response_id)
    assert stopped.status == "cancelled"
    assert stopped.usage is not None and 0 < stopped.usage.output_tokens < 4000
    assert client.responses.cancel(response_id) == stopped == client.responses.retrieve(response_id)
    stream.close()


def client_id(client: openai.OpenAI, stream: Any) -> str:
    """The id of the response of an open stream, by the header with its trace."""
    return "resp_" + stream.response.headers["Sightglass-Trace"].rpartition("/req_")[2]


def test_only_the_background_is_cancelled(client: openai.OpenAI) -> None:
    answer = client.responses.create(model=MODEL, input="Hi", max_output_tokens=4)
    with pytest.raises(openai.BadRequestError):
        client.responses.cancel(answer.id)


def test_a_repeat_under_the_same_key_begins_nothing(client: openai.OpenAI) -> None:
    key = {"Idempotency-Key": uuid.uuid4().hex}

    def send(text: str) -> Response:
        return client.responses.create(model=MODEL, input=text, max_output_tokens=4, extra_headers=key)

    assert send("Hi") == send("Hi")
    with pytest.raises(openai.UnprocessableEntityError):
        send("Ho")


def test_the_oldest_turns_are_dropped_where_the_client_says_so(client: openai.OpenAI) -> None:
    turns: list[Any] = [
        {"role": "user", "content": "word " * 8150},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "What is the capital of France?"},
    ]
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model=MODEL, input=turns, max_output_tokens=8)
    assert refused.value.code == "context_length_exceeded"
    answer = client.responses.create(model=MODEL, input=turns, max_output_tokens=8, truncation="auto")
    assert answer.usage is not None and answer.usage.input_tokens < 100


def test_tokens_are_counted_before_they_are_sent(client: openai.OpenAI) -> None:
    body: dict[str, Any] = {
        "model": MODEL,
        "input": "What is the weather?",
        "instructions": "Be brief.",
        "tools": [WEATHER],
    }
    counted = client.responses.input_tokens.count(**body)
    answer = client.responses.create(**body, max_output_tokens=1)
    assert answer.usage is not None
    assert counted.input_tokens == answer.usage.input_tokens > 50
