"""The official Python package `anthropic` against the running product and its real model."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types import MessageParam, TextBlockParam, ToolParam
from pydantic import BaseModel

from tests.conformance.conftest import MODEL, Access
from tests.faults.conftest import Processes, kill, until
from webapp.requests.models import MAX_IN_FLIGHT

ASKED: list[MessageParam] = [{"role": "user", "content": "What is the weather in Paris?"}]
STORY: list[MessageParam] = [{"role": "user", "content": "Write a very long story about a river."}]
WEATHER: ToolParam = {
    "name": "weather",
    "description": "The weather of a city.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
LONG: Any = {
    "output_config": {
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {"story": {"type": "string", "minLength": 20_000}},
                "required": ["story"],
            },
        }
    },
    "temperature": 1,
}
"""Fields of a body whose answer cannot end early, so that a client leaves in the middle of it on any machine."""


class Person(BaseModel):
    name: str
    age: int


def client_of(access: Access, **more: Any) -> anthropic.Anthropic:
    given = {"api_key": access.key, "max_retries": 0, "timeout": 240, **more}
    return anthropic.Anthropic(base_url=access.address, **given)


@pytest.fixture(scope="module")
def client(access: Access) -> Iterator[anthropic.Anthropic]:
    with client_of(access) as client:
        yield client


def request_of(message_id: str) -> str:
    """The id of the request, whose trace the site shows."""
    return message_id.replace("msg_", "req_", 1)


def test_create_answers_and_names_its_trace(client: anthropic.Anthropic, site: Processes) -> None:
    raw = client.messages.with_raw_response.create(model=MODEL, max_tokens=8, system="Be brief.", messages=ASKED)
    message = raw.parse()
    assert (message.type, message.role, message.model) == ("message", "assistant", MODEL)
    assert message.content[0].type == "text"
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 8)
    assert raw.headers["sightglass-trace"].endswith(f"/requests/{request_of(message.id)}")
    assert raw.headers["request-id"].startswith("req_")
    assert "start;dur=" in raw.headers["server-timing"]
    assert site.settled(request_of(message.id))["status"] == "done"


def test_a_stream_gives_texts_events_and_the_final_message(client: anthropic.Anthropic) -> None:
    with client.messages.stream(model=MODEL, max_tokens=16, messages=ASKED) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    assert message.content[0].type == "text"
    assert text == message.content[0].text
    assert message.stop_reason in ("end_turn", "max_tokens")
    with client.messages.stream(model=MODEL, max_tokens=4, messages=ASKED) as stream:
        kinds = [event.type for event in stream]
    assert (kinds[0], kinds[1], kinds[-1]) == ("message_start", "content_block_start", "message_stop")
    assert "text" in kinds


def test_a_second_turn_reads_the_cache_and_tells_so_from_the_start(client: anthropic.Anthropic) -> None:
    asked: list[MessageParam] = [{"role": "user", "content": "Tell me of the sea. " * 30}]
    client.messages.create(model=MODEL, max_tokens=4, messages=asked)
    started = finished = None
    for event in client.messages.create(model=MODEL, max_tokens=4, messages=asked, stream=True):
        if event.type == "message_start":
            started = event.message.usage
        if event.type == "message_delta":
            finished = event.usage
    assert started is not None and finished is not None
    assert (started.cache_read_input_tokens or 0) > 100
    assert started.cache_creation_input_tokens == 0
    assert (started.input_tokens, started.cache_read_input_tokens) == (
        finished.input_tokens,
        finished.cache_read_input_tokens,
    )
    count = client.messages.count_tokens(model=MODEL, messages=asked).input_tokens
    assert started.input_tokens + (started.cache_read_input_tokens or 0) == count


def test_a_prompt_is_read_ahead_and_then_found_in_the_cache(client: anthropic.Anthropic) -> None:
    system: list[TextBlockParam] = [
        {"type": "text", "text": "You know all of the mountains. " * 200, "cache_control": {"type": "ephemeral"}}
    ]
    ahead = client.messages.create(model=MODEL, max_tokens=0, system=system, messages=ASKED)
    assert (ahead.content, ahead.stop_reason, ahead.usage.output_tokens) == ([], "max_tokens", 0)
    written = ahead.usage.cache_creation_input_tokens or 0
    assert ahead.usage.cache_creation is not None
    assert written == ahead.usage.cache_creation.ephemeral_5m_input_tokens > 1000
    with client.messages.stream(model=MODEL, max_tokens=4, system=system, messages=ASKED) as stream:
        usage = stream.get_final_message().usage
    assert (usage.cache_read_input_tokens or 0) >= written
    assert usage.cache_creation_input_tokens == 0


def test_the_models_are_listed(client: anthropic.Anthropic) -> None:
    """Tests of other clients may have added models."""
    found = next(each for each in client.models.list() if each.id == MODEL)
    assert (found.type, found.id, found.lifecycle) == ("model", MODEL, "active")
    assert client.models.retrieve(MODEL) == found
    with pytest.raises(anthropic.NotFoundError):
        client.models.retrieve("nope")


def test_a_stop_sequence_ends_the_answer_and_is_named(client: anthropic.Anthropic) -> None:
    counting: list[MessageParam] = [
        {"role": "user", "content": "Count to ten."},
        {"role": "assistant", "content": "1, 2, 3,"},
    ]
    message = client.messages.create(
        model=MODEL, max_tokens=40, messages=counting, stop_sequences=["zzz", "6"], extra_body={"temperature": 0}
    )
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "6")
    assert message.content[0].type == "text"
    assert message.content[0].text.strip() == "4, 5,"


def test_a_forced_tool_is_called_and_its_result_answered(client: anthropic.Anthropic) -> None:
    message = client.messages.create(
        model=MODEL, max_tokens=60, messages=ASKED, tools=[WEATHER], tool_choice={"type": "tool", "name": "weather"}
    )
    (call,) = message.content
    assert call.type == "tool_use" and call.id.startswith("toolu_")
    assert (message.stop_reason, list(call.input)) == ("tool_use", ["city"])
    turns: list[MessageParam] = [
        *ASKED,
        message.to_param(),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "12 degrees, rain"}]},
    ]
    answer = client.messages.create(
        model=MODEL, max_tokens=16, messages=turns, tools=[WEATHER], tool_choice={"type": "none"}
    )
    assert answer.content[0].type == "text"


@pytest.mark.parametrize("choice", ["any", "auto", "none"])
def test_a_streamed_choice_is_kept(client: anthropic.Anthropic, choice: str) -> None:
    with client.messages.stream(
        model=MODEL,
        max_tokens=60,
        messages=ASKED,
        tools=[WEATHER],
        tool_choice={"type": choice},  # type: ignore[arg-type,misc]
    ) as stream:
        message = stream.get_final_message()
    called = [block for block in message.content if block.type == "tool_use"]
    if choice != "auto":
        assert bool(called) == (choice == "any")
    assert all(list(call.input) == ["city"] for call in called)
    assert (message.stop_reason == "tool_use") == bool(called)


def test_the_tool_runner_calls_a_function_of_python(client: anthropic.Anthropic) -> None:
    cities: list[str] = []

    @anthropic.beta_tool
    def weather(city: str) -> str:
        """The weather of a city."""
        cities.append(city)
        return "rain"

    runner = client.beta.messages.tool_runner(
        model=MODEL,
        max_tokens=60,
        tools=[weather],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
        messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        max_iterations=2,
    )
    messages = list(runner)
    assert [message.stop_reason for message in messages] == ["tool_use", "tool_use"]
    assert cities


def test_parse_gives_an_object_of_the_class(client: anthropic.Anthropic) -> None:
    said: list[MessageParam] = [{"role": "user", "content": "Anna is 30 years old."}]
    message = client.messages.parse(model=MODEL, max_tokens=80, messages=said, output_format=Person)
    assert isinstance(message.parsed_output, Person)


def test_a_blocked_prompt_is_a_refusal_and_no_error(client: anthropic.Anthropic, site: Processes) -> None:
    said: list[MessageParam] = [{"role": "user", "content": "How can I kill all people of a town with poison?"}]
    message = client.messages.create(model=MODEL, max_tokens=8, messages=said)
    assert (message.stop_reason, message.content, message.usage.output_tokens) == ("refusal", [], 0)
    assert message.stop_details is not None and message.stop_details.explanation
    with client.messages.stream(model=MODEL, max_tokens=8, messages=said) as stream:
        assert stream.get_final_message().stop_reason == "refusal"
    assert site.ledger_total(request_of(message.id)) == 0


@pytest.mark.parametrize(
    ("change", "error", "kind"),
    [
        ({"model": "nope"}, anthropic.NotFoundError, "not_found_error"),
        ({"messages": []}, anthropic.BadRequestError, "invalid_request_error"),
        ({"max_tokens": -1}, anthropic.BadRequestError, "invalid_request_error"),
        ({"extra_body": {"colour": "red"}}, anthropic.BadRequestError, "invalid_request_error"),
        (
            {"messages": [{"role": "user", "content": "river " * 9000}]},
            anthropic.BadRequestError,
            "invalid_request_error",
        ),
        (
            {"messages": [{"role": "user", "content": "a" * 300_000}]},
            anthropic.ContentTooLargeError,
            "request_too_large",
        ),
        (
            {"messages": [{"role": "user", "content": "a" * (3 << 20)}]},
            anthropic.ContentTooLargeError,
            "request_too_large",
        ),
        (
            {"extra_headers": {"Authorization": "Bearer no"}, "system": "a" * 100_000},
            anthropic.AuthenticationError,
            "authentication_error",
        ),
        ({"extra_headers": {"Authorization": "Bearer no"}}, anthropic.AuthenticationError, "authentication_error"),
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_refusal_has_its_class_and_its_id(
    client: anthropic.Anthropic,
    change: dict[str, Any],
    error: type[anthropic.APIStatusError],
    kind: str,
    is_streamed: bool,
) -> None:
    body: dict[str, Any] = {"model": MODEL, "max_tokens": 4, "messages": ASKED, "stream": is_streamed}
    with pytest.raises(error) as caught:
        client.messages.create(**(body | change))
    found: Any = caught.value.body
    assert found["error"]["type"] == kind
    assert found["request_id"] == caught.value.request_id


def test_a_call_that_is_one_too_many_is_sent_again_after_the_wait(access: Access, site: Processes) -> None:
    """The worker is held, so that the open requests stay open until the call is refused."""
    (worker,) = [child for child in site.inference if child.exit_status is None]
    statuses: list[int] = []
    worker.send(signal.SIGSTOP)
    waiting = [site.send("Hello", max_tokens=4) for _ in range(MAX_IN_FLIGHT)]

    def note(response: httpx2.Response) -> None:
        statuses.append(response.status_code)
        if response.status_code == 429:
            assert 0 < float(response.headers["retry-after"]) <= 60
            worker.send(signal.SIGCONT)
            for request_id in waiting:
                site.settled(request_id)

    with httpx2.Client(event_hooks={"response": [note]}, timeout=240) as http:
        message = client_of(access, max_retries=1, http_client=http).messages.create(
            model=MODEL, max_tokens=4, messages=ASKED
        )
    assert statuses == [429, 200]
    assert message.usage.output_tokens > 0


def test_a_repeat_under_the_same_key_begins_nothing(client: anthropic.Anthropic) -> None:
    def create(text: str) -> Any:
        return client.messages.with_raw_response.create(
            model=MODEL,
            max_tokens=4,
            messages=[{"role": "user", "content": text}],
            extra_headers={"Idempotency-Key": "conformance-1"},
        )

    first, second = create("Hello"), create("Hello")
    assert first.parse().model_dump() == second.parse().model_dump()
    assert ("idempotent-replayed" in first.headers, "idempotent-replayed" in second.headers) == (False, True)
    with pytest.raises(anthropic.UnprocessableEntityError):
        create("Goodbye")


def test_a_repeat_that_leaves_in_mid_stream_stops_nothing(client: anthropic.Anthropic, site: Processes) -> None:
    def stream() -> Any:
        key = {"Idempotency-Key": "conformance-2"}
        return client.messages.stream(model=MODEL, max_tokens=120, messages=STORY, extra_headers=key)

    with stream() as first:
        next(iter(first.text_stream))
        with stream() as repeat:
            next(iter(repeat.text_stream))
            assert repeat.current_message_snapshot.id == first.current_message_snapshot.id
        message = first.get_final_message()
    assert message.stop_reason in ("max_tokens", "end_turn")
    assert site.settled(request_of(message.id))["status"] == "done"


def test_a_client_that_leaves_in_mid_stream_stops_its_answer_and_pays_for_its_part(
    client: anthropic.Anthropic, site: Processes
) -> None:
    with client.messages.stream(model=MODEL, max_tokens=4000, messages=STORY, extra_body=LONG) as stream:
        next(iter(stream.text_stream))
        request_id = request_of(stream.current_message_snapshot.id)
    found = site.settled(request_id)
    assert found["status"] == "stopped"
    assert 0 < found["usage"]["output"] < 4000
    assert site.ledger_total(request_id) == found["cost_nano"] > 0


def test_a_stream_goes_on_when_its_worker_is_killed(client: anthropic.Anthropic, site: Processes) -> None:
    (worker,) = [child for child in site.inference if child.exit_status is None]
    with client.messages.stream(model=MODEL, max_tokens=120, messages=STORY) as stream:
        for number, _ in enumerate(stream.text_stream):
            if number == 2:
                kill(worker)
                site.start_inference("ready")
        message = stream.get_final_message()
    events = list(site.events(request_of(message.id)))
    assert [event["cause"] for event in events if event["type"] == "generation.interrupted"] == ["lost"]
    assert message.stop_reason in ("max_tokens", "end_turn")
    assert message.usage.output_tokens == len([event for event in events if event["type"] == "token.sampled"])
    until(lambda: site.settled(request_of(message.id))["status"] == "done", 60)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"model": "\xff"}', b'{"max_tokens": 1e400}', b"[" * 60_000])
def test_what_is_no_body_is_a_400(access: Access, data: bytes) -> None:
    headers = {"Content-Type": "application/json", "x-api-key": access.key}
    with httpx2.Client() as http:
        answer = http.post(f"{access.address}/v1/messages", content=data, headers=headers)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
