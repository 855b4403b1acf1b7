"""Chat completions by OpenAI's client."""

from __future__ import annotations

import json
import math
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import BaseModel

from tests.conformance.openai.conftest import MODEL

ASKED: list[ChatCompletionMessageParam] = [{"role": "user", "content": "What is the capital of France?"}]
WEATHER: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 20}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


def test_an_answer(client: openai.OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=ASKED, temperature=0)
    answer = raw.parse()
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.content
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert (answer.id[:9], answer.object, answer.model) == ("chatcmpl-", "chat.completion", MODEL)
    assert raw.headers["x-request-id"].startswith("req_")
    assert "/requests/req_" in raw.headers["Sightglass-Trace"]
    assert "validate;dur=" in raw.headers["Server-Timing"]


def test_a_stream_says_what_the_answer_says(client: openai.OpenAI) -> None:
    options = {"include_usage": True}
    stream = client.chat.completions.create(
        model=MODEL, messages=ASKED, temperature=0, stream=True, stream_options=options
    )
    chunks = list(stream)
    whole = client.chat.completions.create(model=MODEL, messages=ASKED, temperature=0)
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert {chunk.id for chunk in chunks} == {chunks[0].id}
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert chunks[-1].choices == []
    assert whole.usage is not None and chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens


def test_the_stream_helper(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(model=MODEL, messages=ASKED, temperature=0) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
    final = stream.get_final_completion()
    assert "".join(deltas) == final.choices[0].message.content


def test_the_same_seed_gives_the_same_answer(client: openai.OpenAI) -> None:
    def text(seed: int) -> str | None:
        answer = client.chat.completions.create(
            model=MODEL, messages=ASKED, seed=seed, temperature=1.5, max_completion_tokens=24
        )
        return answer.choices[0].message.content

    assert text(11) == text(11)
    assert len({text(seed) for seed in (11, 12, 13)}) > 1


def test_several_answers(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=ASKED, n=3, temperature=1.5, max_completion_tokens=12)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in answer.choices}) > 1


def test_log_probabilities(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model=MODEL, messages=ASKED, logprobs=True, top_logprobs=3, temperature=0, max_completion_tokens=6
    )
    found = answer.choices[0].logprobs
    assert found is not None and found.content
    assert "".join(token.token for token in found.content) == answer.choices[0].message.content
    for token in found.content:
        assert len(token.top_logprobs) == 3
        assert token.logprob == pytest.approx(max(top.logprob for top in token.top_logprobs), abs=1e-3)
        assert sum(math.exp(top.logprob) for top in token.top_logprobs) <= 1.001
        assert bytes(token.bytes or []).decode() == token.token


def test_a_bias_bans_and_forces_tokens(client: openai.OpenAI) -> None:
    def said(**fields: Any) -> str:
        answer = client.chat.completions.create(
            model=MODEL, messages=ASKED, temperature=0, max_completion_tokens=4, **fields
        )
        return answer.choices[0].message.content or ""

    assert not said(logit_bias={"504": -100}).startswith("The")
    assert said(logit_bias={"504": 100}) == "The" * 4


def test_a_stop_text_ends_the_answer(client: openai.OpenAI) -> None:
    def said(**fields: Any) -> tuple[str, str]:
        (choice,) = client.chat.completions.create(model=MODEL, messages=ASKED, temperature=0, **fields).choices
        return choice.finish_reason, choice.message.content or ""

    _, whole = said(max_completion_tokens=12)
    stop = " " + whole.split()[2]
    assert said(stop=[stop]) == ("stop", whole.partition(stop)[0])


def test_the_limit_of_tokens(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=ASKED, max_completion_tokens=3)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None and answer.usage.completion_tokens == 3


class Person(BaseModel):
    name: str
    age: int


def test_a_parsed_answer(client: openai.OpenAI) -> None:
    answer = client.chat.completions.parse(
        model=MODEL,
        messages=[{"role": "user", "content": "Anna is 30."}],
        response_format=Person,
        temperature=0,
        max_completion_tokens=60,
    )
    assert answer.choices[0].message.parsed == Person(name="Anna", age=30)


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "weather"}}])
def test_a_tool_is_called_and_its_result_read(client: openai.OpenAI, choice: Any) -> None:
    asked: list[ChatCompletionMessageParam] = [{"role": "user", "content": "What is the weather in Paris?"}]
    first = client.chat.completions.create(
        model=MODEL, messages=asked, tools=[WEATHER], tool_choice=choice, parallel_tool_calls=False, temperature=0
    )
    assert first.choices[0].finish_reason == "tool_calls"
    (call,) = first.choices[0].message.tool_calls or ()
    assert call.type == "function"
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Paris"})
    told: list[Any] = [
        *asked,
        first.choices[0].message,
        {"role": "tool", "tool_call_id": call.id, "content": "12 degrees, rain"},
    ]
    second = client.chat.completions.create(
        model=MODEL, messages=told, tools=[WEATHER], tool_choice="none", temperature=0, max_completion_tokens=40
    )
    assert second.choices[0].message.content
    assert second.usage is not None and second.usage.prompt_tokens_details is not None
    assert second.usage.prompt_tokens_details.cached_tokens


def test_a_streamed_call(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(
        model=MODEL,
        messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        tools=[WEATHER],
        tool_choice="required",
        parallel_tool_calls=False,
        temperature=0,
    ) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
    assert [(event.name, event.parsed_arguments) for event in done] == [("weather", {"city": "Paris"})]


async def test_the_asynchronous_client(base_url: str, key: str) -> None:
    async with openai.AsyncOpenAI(base_url=base_url, max_retries=0, api_key=key) as client:
        stream = await client.chat.completions.create(model=MODEL, messages=ASKED, temperature=0, stream=True)
        text = "".join([choice.delta.content or "" async for chunk in stream for choice in chunk.choices])
    assert text
