"""What OpenAI's client makes of refusals, of a full house, and of its own leaving."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import openai
import pytest

from tests.conformance.openai.conftest import MODEL
from tests.faults.conftest import Processes, kill, until

ASKED: list[Any] = [{"role": "user", "content": "Write a very long story about the sea."}]
UNKNOWN = {"foo": 1}


@pytest.mark.parametrize(
    ("fields", "kind", "field", "code"),
    [
        ({"model": "nothing"}, openai.NotFoundError, "model", "model_not_found"),
        ({"messages": []}, openai.BadRequestError, "messages", None),
        ({"temperature": 3}, openai.BadRequestError, "temperature", None),
        ({"max_completion_tokens": 0}, openai.BadRequestError, "max_completion_tokens", None),
        ({"extra_body": UNKNOWN}, openai.BadRequestError, "foo", None),
        ({"messages": [{"role": "user", "content": "x " * 9000}]}, openai.BadRequestError, None, None),
        ({"messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}]}, openai.BadRequestError, None, None),
        ({"messages": [{"role": "robot", "content": "x"}]}, openai.BadRequestError, None, None),
        ({"extra_headers": {"Idempotency-Key": "no spaces"}}, openai.BadRequestError, None, None),
    ],
)
def test_a_refusal_has_the_class_and_the_field(
    client: openai.OpenAI,
    fields: dict[str, Any],
    kind: type[openai.APIStatusError],
    field: str | None,
    code: str | None,
) -> None:
    with pytest.raises(kind) as refused:
        client.chat.completions.create(**({"model": MODEL, "messages": ASKED, "max_completion_tokens": 4} | fields))
    if field is not None:
        assert (refused.value.param, refused.value.code) == (field, code)
    assert refused.value.type == "invalid_request_error"
    assert refused.value.request_id is not None


def test_a_client_without_a_key_is_not_let_in(base_url: str) -> None:
    client = openai.OpenAI(base_url=base_url, api_key="wrong", max_retries=0)
    with client, pytest.raises(openai.AuthenticationError):
        client.models.list()


def test_a_full_house_lets_the_client_try_again(client: openai.OpenAI) -> None:
    """Eight answers at once are one user's most. The client waits as long as it is told, and then gets its own."""
    streams = client.chat.completions.create(model=MODEL, messages=ASKED, n=8, stream=True, max_completion_tokens=200)
    next(iter(streams))
    with pytest.raises(openai.RateLimitError) as refused:
        client.chat.completions.create(model=MODEL, messages=ASKED, max_completion_tokens=2)
    assert 0 < int(refused.value.response.headers["Retry-After"]) <= 60
    patient = client.with_options(max_retries=5)
    raw = patient.chat.completions.with_raw_response.create(model=MODEL, messages=ASKED, max_completion_tokens=2)
    assert raw.retries_taken > 0
    streams.close()


@pytest.mark.parametrize("ways", ["chat", "responses", "completions"])
def test_a_client_that_leaves_stops_its_answer_and_pays_for_what_was_made(
    client: openai.OpenAI, product: Processes, ways: str
) -> None:
    stream = begun(client, ways)
    chunks = iter(stream)
    for _ in range(6):
        next(chunks)
    request_id = stream.response.headers["Sightglass-Trace"].rpartition("/")[2]
    stream.close()
    row = product.settled(request_id)
    assert row["status"] == "stopped"
    assert 0 < row["usage"]["output"] < 4000
    assert product.ledger_total(request_id) == row["cost_nano"] > 0


def begun(client: openai.OpenAI, ways: str) -> Any:
    if ways == "chat":
        return client.chat.completions.create(model=MODEL, messages=ASKED, stream=True, max_completion_tokens=4000)
    if ways == "responses":
        return client.responses.create(model=MODEL, input=ASKED, stream=True, max_output_tokens=4000)
    return client.completions.create(model=MODEL, prompt="Once upon a time", stream=True, max_tokens=4000)


def test_a_worker_that_is_killed_only_makes_the_streams_pause(client: openai.OpenAI, product: Processes) -> None:
    chat = client.chat.completions.create(
        model=MODEL,
        messages=ASKED,
        stream=True,
        max_completion_tokens=150,
        seed=5,
        stream_options={"include_usage": True},
    )
    asked: dict[str, Any] = {"model": MODEL, "input": ASKED, "max_output_tokens": 150, "extra_body": {"seed": 5}}
    response = client.responses.create(stream=True, **asked)
    with closing(chat), closing(response):
        chunks, events = iter(chat), iter(response)
        seen: list[Any] = [next(chunks) for _ in range(5)]
        told: list[Any] = [next(events) for _ in range(6)]
        kill(product.inference[-1])
        product.start_inference()
        seen += chunks
        told += events
    text = "".join(choice.delta.content or "" for chunk in seen for choice in chunk.choices)
    again = client.chat.completions.create(model=MODEL, messages=ASKED, max_completion_tokens=150, seed=5)
    assert text == again.choices[0].message.content
    assert seen[-1].usage.completion_tokens == again.usage.completion_tokens
    assert [event.sequence_number for event in told] == list(range(len(told)))
    whole = client.responses.create(**asked)
    assert told[-1].response.output_text == whole.output_text
    assert told[-1].response.usage.output_tokens == whole.usage.output_tokens


def test_a_background_response_outlives_a_site_that_is_killed(client: openai.OpenAI, product: Processes) -> None:
    asked: dict[str, Any] = {"model": MODEL, "input": ASKED, "max_output_tokens": 300, "extra_body": {"seed": 5}}
    stream = client.responses.create(background=True, stream=True, **asked)
    seen: list[Any] = [next(iter(stream)) for _ in range(6)]
    kill(product.web)
    with pytest.raises(openai.APIError), closing(stream):
        until_cut(stream)
    product.web = product.start_web()
    product.wait_for("/healthz")
    rest = client.responses.retrieve(seen[0].response.id, stream=True, starting_after=seen[-1].sequence_number)
    seen += rest
    assert [event.sequence_number for event in seen] == list(range(len(seen)))
    again = client.responses.create(**asked)
    assert seen[-1].response.output_text == again.output_text
    assert seen[-1].response.usage.output_tokens == again.usage.output_tokens


def until_cut(stream: Iterator[Any]) -> None:
    try:
        for _ in stream:
            pass
    except openai.APIError:
        raise
    except Exception as error:  # the client's HTTP library names a cut in its own way
        raise openai.APIError(str(error), None, body=None) from None  # type: ignore[arg-type]


def test_an_answer_that_waits_leaves_the_site_free(client: openai.OpenAI, product: Processes) -> None:
    stream = client.chat.completions.create(model=MODEL, messages=ASKED, stream=True, max_completion_tokens=200)
    with closing(stream):
        next(iter(stream))
        began = time.monotonic()
        client.models.list()
        assert time.monotonic() - began < 5
    until(lambda: product.client.get("/readyz").status_code == 200, 60)
