"""Thinking as the official clients of both families read it: a scripted model thinks in tags, then answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from tests.conformance.conftest import MODEL, Access
from tests.conformance.scripted.decoder import SLOWLY, WRITE
from tests.faults.conftest import Processes, until

THOUGHT, ANSWER = "Two and two are four.", "It is 4."
SCRIPT = f"{WRITE}<think>\n{THOUGHT}\n</think>\n\n{ANSWER}"
LONG = f"{WRITE}<think>\n{' '.join(f'step {number}' for number in range(400))}</think>\n\n{ANSWER}"
SLOW = LONG.replace(WRITE, SLOWLY)
"""Its thinking takes far longer than a call of the site."""
ASKED: Any = {"role": "user", "content": SCRIPT}
BUDGET: Any = {"type": "enabled", "budget_tokens": 1024}


@pytest.fixture(scope="module")
def messages(access: Access) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=access.address, api_key=access.key, max_retries=0, timeout=120) as client:
        yield client


@pytest.fixture(scope="module")
def client(access: Access) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{access.address}/v1", api_key=access.key, max_retries=0, timeout=120) as client:
        yield client


def ask(client: anthropic.Anthropic, model: str, is_stream: bool = False, /, **given: Any) -> Any:
    body: Any = {"model": model, "messages": [ASKED], "max_tokens": 2000, "thinking": BUDGET} | given
    if not is_stream:
        return client.messages.create(**body)
    with client.messages.stream(**body) as stream:
        return stream.get_final_message()


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_message_has_its_thinking_as_a_block_of_its_own(
    messages: anthropic.Anthropic, thinker: str, is_stream: bool
) -> None:
    found = ask(messages, thinker, is_stream)
    thinking, text = found.content
    assert (thinking.type, thinking.thinking, text.text) == ("thinking", THOUGHT, ANSWER)
    assert 0 < found.usage.output_tokens_details.thinking_tokens < found.usage.output_tokens
    assert found.stop_reason == "end_turn"


def test_a_budget_ends_the_thinking_and_the_answer_follows(messages: anthropic.Anthropic, thinker: str) -> None:
    found = ask(messages, thinker, messages=[{"role": "user", "content": LONG}])
    thinking, text = found.content
    assert text.text == ANSWER
    assert thinking.thinking.startswith("step 0 step 1 ")
    assert found.usage.output_tokens_details.thinking_tokens == 1024 + 3


def test_thinking_that_is_not_wanted_is_left_out(messages: anthropic.Anthropic, thinker: str) -> None:
    found = ask(messages, thinker, thinking=anthropic.omit)
    assert [block.type for block in found.content] == ["text"]
    assert found.content[0].text == ANSWER


def test_omitted_thinking_has_its_signature_alone(messages: anthropic.Anthropic, thinker: str) -> None:
    found = ask(messages, thinker, True, thinking=BUDGET | {"display": "omitted"})
    assert (found.content[0].thinking, found.content[1].text) == ("", ANSWER)
    assert found.content[0].signature


def test_thinking_comes_back_as_it_was_or_is_refused(messages: anthropic.Anthropic, thinker: str) -> None:
    first = ask(messages, thinker)
    blocks = [block.model_dump(exclude_none=True) for block in first.content]
    after = [ASKED, {"role": "assistant", "content": blocks}, ASKED]
    without = [ASKED, {"role": "assistant", "content": ANSWER}, ASKED]
    assert ask(messages, thinker, messages=after).content[-1].text == ANSWER
    sizes = [
        messages.messages.count_tokens(model=thinker, messages=each, thinking=BUDGET).input_tokens
        for each in (after, without)
    ]
    assert sizes[0] == sizes[1]
    blocks[0]["thinking"] += " Five."
    with pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking` block"):
        ask(messages, thinker, messages=after)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 1023}}, "budget_tokens must be 1,024 or more"),
        ({"max_tokens": 1024}, "max_tokens must be greater than thinking.budget_tokens"),
        ({"messages": [ASKED, {"role": "assistant", "content": "It"}]}, "the last message is the assistant's"),
    ],
)
def test_a_budget_that_cannot_be_is_refused(
    messages: anthropic.Anthropic, thinker: str, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=told):
        ask(messages, thinker, **given)


def test_a_model_that_does_not_think_says_so(messages: anthropic.Anthropic, client: openai.OpenAI) -> None:
    with pytest.raises(anthropic.BadRequestError, match="does not think"):
        ask(messages, MODEL)
    with pytest.raises(openai.BadRequestError, match="'reasoning_effort' is not supported with this model"):
        client.chat.completions.create(model=MODEL, messages=[ASKED], reasoning_effort="low")


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_chat_completion_counts_its_reasoning_and_shows_none(
    client: openai.OpenAI, thinker: str, is_stream: bool
) -> None:
    body: Any = {"model": thinker, "messages": [ASKED], "reasoning_effort": "low", "logprobs": True}
    if is_stream:
        with client.chat.completions.stream(**body, stream_options={"include_usage": True}) as stream:
            stream.until_done()
        found: Any = stream.get_final_completion()
    else:
        found = client.chat.completions.create(**body)
    assert found.choices[0].message.content == ANSWER
    assert "".join(each.token for each in found.choices[0].logprobs.content).strip() == ANSWER
    assert 0 < found.usage.completion_tokens_details.reasoning_tokens < found.usage.completion_tokens


def test_a_chat_completion_without_effort_does_not_reason(client: openai.OpenAI, thinker: str) -> None:
    found = client.chat.completions.create(model=thinker, messages=[ASKED], reasoning_effort="none")
    assert found.choices[0].message.content == ANSWER
    assert found.usage and found.usage.completion_tokens_details
    assert found.usage.completion_tokens_details.reasoning_tokens == 0


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_response_has_an_item_of_reasoning(client: openai.OpenAI, thinker: str, is_stream: bool) -> None:
    body: Any = {"model": thinker, "input": SCRIPT, "reasoning": {"effort": "low"}}
    if is_stream:
        with client.responses.stream(**body) as stream:
            stream.until_done()
        found: Any = stream.get_final_response()
    else:
        found = client.responses.create(**body)
    reasoning, message = found.output
    assert (reasoning.type, [part.text for part in reasoning.content]) == ("reasoning", [THOUGHT])
    assert message.content[0].text == ANSWER
    assert 0 < found.usage.output_tokens_details.reasoning_tokens < found.usage.output_tokens
    again = client.responses.create(
        model=thinker, input=[*(each.model_dump(exclude_none=True) for each in found.output), ASKED]
    )
    assert again.output_text == ANSWER


def test_a_form_binds_the_answer_alone(client: openai.OpenAI, thinker: str) -> None:
    schema = {"type": "object", "properties": {"sum": {"const": 4}}, "required": ["sum"], "additionalProperties": False}
    asked: Any = {"role": "user", "content": f'{WRITE}<think>\n{THOUGHT}\n</think>{{"sum": 4}}'}
    form: Any = {"type": "json_schema", "json_schema": {"name": "sum", "schema": schema, "strict": True}}
    found = client.chat.completions.create(model=thinker, messages=[asked], response_format=form)
    assert found.choices[0].message.content == '{"sum": 4}'
    assert found.usage and found.usage.completion_tokens_details
    assert found.usage.completion_tokens_details.reasoning_tokens


def test_a_person_ends_the_thinking_and_the_answer_follows(site: Processes, thinker: str) -> None:
    conversation = site.client.post("/api/conversations", json={"model": thinker}).raise_for_status().json()["id"]
    request_id = site.say(conversation, SLOW, max_tokens=8000)
    until(lambda: site.client.post(f"/api/requests/{request_id}/answer-now").status_code == 202, 60)
    site.settled(request_id)
    events = list(site.events(request_id))
    kinds = [event["type"] for event in events]
    (ended,) = (event for event in events if event["type"] == "thinking.ended")
    assert ended["cause"] == "answer_now"
    assert kinds.index("thinking.answer_asked") < kinds.index("thinking.ended") < kinds.index("text.released")
    message = site.client.get(f"/api/conversations/{conversation}").json()["messages"][-1]
    assert (message["text"], message["thinking"]["cause"]) == (ANSWER, "answer_now")
    assert message["thinking"]["num_tokens"] == ended["num_tokens"]
    assert site.client.post(f"/api/requests/{request_id}/answer-now").status_code == 409
