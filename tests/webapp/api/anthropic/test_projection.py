"""Anthropic's message and stream of a log, with the official client as the judge. No server, and no worker."""

from __future__ import annotations

import itertools
import json
from typing import Any

import anthropic
import httpx2
import jiter
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.events import AnyEvent, TextReleased
from inference.protocol.request import SamplingParams
from tests.webapp.api.anthropic.logs import (
    GOLDEN,
    NUM_CACHED,
    NUM_PROMPT,
    begun,
    ended,
    failed,
    golden,
    released,
    with_calls,
    withheld,
)
from webapp.api.anthropic.events import StreamEvent, frame
from webapp.api.anthropic.partial import value_so_far
from webapp.api.anthropic.projection import MessageProjection, message_of

LOGS = sorted(path.stem for path in GOLDEN.glob("*.json"))


def projection() -> MessageProjection:
    return MessageProjection("msg_a", "m", "toolu_a", sign=str.upper)


def whole(events: list[AnyEvent]) -> dict[str, Any]:
    message = message_of(projection(), events)
    assert message is not None
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(message))
    return found


def streamed(events: list[AnyEvent]) -> list[StreamEvent]:
    return projection().feed(events)


def names(events: list[StreamEvent]) -> list[str]:
    return [str(event.__struct_config__.tag) for event in events]


def put_together(data: bytes) -> dict[str, Any]:
    """The message that the official client makes of the stream."""
    answer = httpx2.Response(200, content=data, headers={"content-type": "text/event-stream"})
    transport = httpx2.MockTransport(lambda _: answer)
    with (
        httpx2.Client(transport=transport) as http,
        anthropic.Anthropic(api_key="k", base_url="http://site", http_client=http) as client,
        client.messages.stream(model="m", max_tokens=1, messages=[{"role": "user", "content": "?"}]) as stream,
    ):
        found: dict[str, Any] = json.loads(stream.get_final_message().model_dump_json(exclude_unset=True))
    found["content"] = [
        {name: value for name, value in block.items() if name != "parsed_output"}
        for block in found["content"]
        if block.get("text") != ""  # the whole message has no empty text
    ]
    return found


def cut(draw: st.DrawFn, events: list[AnyEvent]) -> list[AnyEvent]:
    """The same log, whose texts were released in other pieces."""
    found: list[AnyEvent] = []
    for event in events:
        if isinstance(event, TextReleased):
            places = sorted(draw(st.sets(st.integers(0, len(event.text)), max_size=6)))
            bounds = [0, *places, len(event.text)]
            pieces = [event.text[start:end] for start, end in itertools.pairwise(bounds)]
            found += [msgspec.structs.replace(event, text=piece) for piece in pieces]
        else:
            found.append(event)
    return found


@st.composite
def cut_logs(draw: st.DrawFn) -> tuple[list[AnyEvent], list[list[AnyEvent]]]:
    """A log, and the same one in other pieces and frames."""
    arguments = draw(st.dictionaries(st.text(max_size=4), st.text(max_size=8) | st.integers(), max_size=3))
    texts = draw(st.text(max_size=8).filter(lambda text: "<" not in text))
    call = ("weather", json.dumps(arguments, ensure_ascii=draw(st.booleans())))
    made = [
        with_calls(call, ("clock", "{}"), text=texts),
        with_calls(call, text=texts, reason="length"),
        withheld(texts, "No."),
        [*begun(), *released(texts), *ended("length")],
    ]
    log = draw(st.sampled_from([*made, *(golden(name) for name in LOGS if name not in ("lost",))]))
    events = cut(draw, log)
    frames: list[list[AnyEvent]] = []
    while events:
        size = draw(st.integers(1, max(1, len(events))))
        frames.append(events[:size])
        events = events[size:]
    return log, frames


@given(cut_logs())
def test_the_stream_put_together_by_the_official_client_is_the_whole_message(
    logs: tuple[list[AnyEvent], list[list[AnyEvent]]],
) -> None:
    log, frames = logs
    live = projection()
    data = b"".join(frame(event) for each in frames for event in live.feed(each))
    assert put_together(data) == whole(log)


@pytest.mark.parametrize("name", LOGS)
def test_a_recorded_log_has_a_stream_in_the_order_that_clients_need(name: str) -> None:
    live = projection()
    found = names(live.feed(golden(name)))
    if live.failed:
        assert "message_stop" not in found
        return
    assert found[0] == "message_start"
    assert found[1:3] == ["content_block_start", "ping"] or found[1] == "content_block_start"
    assert found[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert found.count("message_start") == found.count("message_delta") == 1


def test_blocks_follow_each_other_with_consecutive_indices() -> None:
    log = with_calls(("weather", '{"city": "Paris"}'), ("clock", "{}"), text="Let me see.")
    events = [msgspec.to_builtins(event) for event in streamed(log)]
    assert [event["index"] for event in events if event["type"] == "content_block_start"] == [0, 1, 2]
    assert [event["index"] for event in events if "index" in event] == sorted(
        event["index"] for event in events if "index" in event
    )
    assert whole(log)["content"] == [
        {"type": "text", "text": "Let me see.", "citations": None},
        {"type": "tool_use", "id": "toolu_a_0", "name": "weather", "input": {"city": "Paris"}},
        {"type": "tool_use", "id": "toolu_a_1", "name": "clock", "input": {}},
    ]


@pytest.mark.parametrize(
    ("log", "reason", "sequence"),
    [
        ([*begun(), *released("Hello."), *ended()], "end_turn", None),
        ([*begun(), *released("la la la"), *ended("repetition")], "end_turn", None),
        ([*begun(SamplingParams(max_tokens=7)), *released("Hello"), *ended("length")], "max_tokens", None),
        ([*begun(SamplingParams(max_tokens=99), window=60), *ended("length")], "model_context_window_exceeded", None),
        (with_calls(("clock", "{}")), "tool_use", None),
        (with_calls(("clock", "{}"), reason="length"), "max_tokens", None),
        (withheld("So", "No."), "refusal", None),
    ],
)
def test_the_end_has_anthropics_word(log: list[AnyEvent], reason: str, sequence: str | None) -> None:
    message = whole(log)
    assert (message["stop_reason"], message["stop_sequence"]) == (reason, sequence)


def test_the_input_is_the_sum_of_its_three_parts() -> None:
    log = [*begun(), *released("Hello."), *ended(num_output=9)]
    start = msgspec.to_builtins(streamed(log)[0])["message"]["usage"]
    assert (start["input_tokens"], start["cache_read_input_tokens"]) == (NUM_PROMPT - NUM_CACHED, NUM_CACHED)
    assert start["cache_creation"] == {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    usage = whole(log)["usage"]
    parts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    assert sum(usage[name] for name in parts) == NUM_PROMPT
    assert usage["output_tokens"] == 9


def test_figures_that_a_server_elsewhere_does_not_tell_are_left_out() -> None:
    log = [*begun(has_cache=False), *released("Hello."), *ended(is_cache_known=False)]
    start = msgspec.to_builtins(streamed(log)[0])["message"]["usage"]
    for usage in (start, whole(log)["usage"]):
        assert not [name for name in usage if name.startswith("cache")]
        assert usage["input_tokens"] == NUM_PROMPT


def test_a_message_starts_once_the_cache_was_looked_up_and_once_only() -> None:
    live = projection()
    log = begun()
    assert live.feed(log[:-1]) == []
    assert names(live.feed(log[-1:])) == ["message_start"]
    assert live.feed(log[-1:]) == []  # after a preemption the engine looks it up again


def test_a_blocked_prompt_is_refused_and_costs_nothing() -> None:
    message = whole(failed("blocked", begun()[:1]))
    assert message["content"] == []
    assert (message["stop_reason"], message["stop_details"]) == (
        "refusal",
        {"type": "refusal", "explanation": "It failed.", "category": None},
    )
    assert message["usage"]["input_tokens"] == message["usage"]["output_tokens"] == 0


def test_a_withheld_answer_tells_why_and_is_billed() -> None:
    message = whole(withheld("So", "The policy allows no such answer."))
    assert message["stop_details"]["explanation"] == "The policy allows no such answer."
    assert message["usage"]["output_tokens"] == 7


def test_an_answer_that_fails_has_no_end() -> None:
    live = projection()
    found = names(live.feed(failed("worker_lost", [*begun(), *released("Hel")])))
    assert found == ["message_start", "content_block_start", "ping", "content_block_delta"]
    assert live.failed is not None
    assert message_of(projection(), failed("worker_lost", begun())) is None


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), _json, max_size=4), st.data(), st.booleans())
def test_arguments_that_break_off_are_what_the_official_client_makes_of_them(
    value: dict[str, Any], data: st.DataObject, is_ascii: bool
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    beginning = text[: data.draw(st.integers(1, len(text)))]
    assert value_so_far(beginning) == jiter.from_json(beginning.encode(), partial_mode=True)
