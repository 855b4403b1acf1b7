"""The outcome of a request's events when a person chose its tokens."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from inference.protocol.events import (
    AnyEvent,
    Frame,
    GenerationFinished,
    RequestAccepted,
    RequestFinished,
    TextReleased,
    ThinkingEnded,
    ThinkingReleased,
    TokenProposed,
)
from inference.protocol.request import SamplingParams, Usage
from tests.webapp.lifecycle.test_fork import sampled
from webapp.requests.outcome import fold
from webapp.surfaces.calls.answer import AnswerReader, Ended

TOKEN = sampled(0, 50)
USAGE = Usage(uncached_input=3, cache_read=40, output=2)
ACCEPTED = RequestAccepted(
    at=0, request_id="req_a", surface="chat", model="m", params=SamplingParams(), accepted_unix_us=1
)


def proposed(at: int) -> TokenProposed:
    return TokenProposed(at=at, token=TOKEN)


def sampled_at(at: int) -> AnyEvent:
    return replace(TOKEN, at=at)


def released(at: int) -> TextReleased:
    return TextReleased(at=at, text="a", num_tokens=1)


def finished(at: int) -> GenerationFinished:
    return GenerationFinished(at=at, finish_reason="abort", usage=USAGE, prefill_us=1, decode_us=1)


@pytest.mark.parametrize(
    ("events", "first"),
    [
        ([sampled_at(50), released(60)], 60),
        ([proposed(50), sampled_at(1050), released(1060)], 60),
        ([proposed(50), sampled_at(1050), proposed(1060), sampled_at(2060), released(2070)], 70),
        # The next one was proposed while the first text was still being checked.
        ([proposed(50), sampled_at(1050), proposed(1060), released(1070), sampled_at(9000)], 60),
        ([proposed(50), sampled_at(1050), proposed(1060), released(1070), finished(9000)], 60),
        ([proposed(50), sampled_at(1050), released(1060), proposed(1070), sampled_at(9000)], 60),
        ([proposed(50)], None),
    ],
)
def test_the_first_text_and_token_are_timed_without_what_a_person_took(
    events: list[AnyEvent], first: int | None
) -> None:
    found = fold([Frame(seq=1, events=(ACCEPTED, *events))])
    assert found.first_text_us == first
    assert found.first_token_us == (None if first is None else 50)


def test_the_times_between_tokens_are_without_what_a_person_took() -> None:
    def between(*events: AnyEvent) -> dict[str, int] | None:
        return fold([Frame(seq=1, events=(ACCEPTED, *events))]).between_tokens_us

    assert between(sampled_at(50)) is None
    quick = [sampled_at(at) for at in (50, 60, 70, 70, 120)]
    assert between(*quick) == {"mean": 18, "median": 10, "p95": 50, "worst": 50}
    chosen = [proposed(50), sampled_at(1050), proposed(1060), sampled_at(5060)]
    assert between(*chosen) == {"mean": 10, "median": 10, "p95": 10, "worst": 10}


def test_thinking_is_never_more_than_the_output_that_the_server_counts() -> None:
    thought = ThinkingEnded(at=60, num_tokens=9, duration_us=3, cause="model")
    events = (ACCEPTED, sampled_at(50), thought, released(70), replace(finished(80), finish_reason="stop"))
    found = fold([Frame(seq=1, events=events)])
    assert (found.usage.output, found.billable_thinking) == (2, 2)
    released_thought = ThinkingReleased(at=55, text="Hm", num_tokens=9)
    end = RequestFinished(at=90, finish_reason="stop", usage=USAGE)
    ended = AnswerReader().feed([*events[:2], released_thought, end])[-1]
    assert isinstance(ended, Ended) and ended.num_thinking_tokens == 2
