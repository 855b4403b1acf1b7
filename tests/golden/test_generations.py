"""Of a request with two generations, each reader of its log takes the right one."""

from __future__ import annotations

import pytest

from inference.protocol.events import AnyEvent, Frame, PromptTokenized, first
from inference.tokenization.tokenizer import Tokenizer
from tests.golden.test_exports import golden
from webapp.lifecycle.fork import parent_of
from webapp.lifecycle.probes.subject import build
from webapp.requests.outcome import fold
from webapp.surfaces.runs.saved_prompt import read
from webapp.traces.export.redact import MARK, redact
from webapp.traces.file.archive import decode, decode_turn, encode

NAMES = ["two_generations", "second_taken_over"]
MODEL = "smollm2-135m-instruct"


@pytest.fixture(params=NAMES)
def frames(request: pytest.FixtureRequest) -> list[Frame]:
    return golden(request.param)


def events_of(frames: list[Frame]) -> list[AnyEvent]:
    return [event for frame in frames for event in frame.events]


def test_a_saved_trace_keeps_the_generation_of_each_event(frames: list[Frame]) -> None:
    assert decode(encode(frames, {})).frames == frames


def test_a_redacted_trace_has_a_mark_for_each_token_of_each_generation(frames: list[Frame]) -> None:
    before, after = fold(frames).generations, fold(redact(frames)).generations
    for real, redacted in zip(before, after, strict=True):
        assert redacted.text == MARK * sum(bool(token.piece) for token in real.tokens)
        assert [token.position for token in redacted.tokens] == [token.position for token in real.tokens]
        assert redacted.usage == real.usage


def test_the_next_turn_is_compared_with_the_last_generation(frames: list[Frame]) -> None:
    turn, last = decode_turn(encode(frames, {})), fold(frames).generations[-1]
    assert first(turn.events, PromptTokenized) == last.prompt
    assert turn.answer == [(token.id, token.piece) for token in last.tokens]


def test_a_fork_and_a_probe_continue_the_last_generation(frames: list[Frame], tokenizer: Tokenizer) -> None:
    last = fold(frames).generations[-1]
    assert last.prompt is not None
    ids = tuple(token.id for token in last.tokens)
    parent = parent_of(events_of(frames), tokenizer, MODEL)
    assert (parent.prompt, parent.ids) == (last.prompt, ids)
    end = len(last.prompt.ids) + len(ids) - 1
    assert build("req_a", events_of(frames), "memory", end, "user:1").ids == (*last.prompt.ids, *ids)


def test_a_rerun_begins_with_the_first_prompt(frames: list[Frame]) -> None:
    assert read(events_of(frames)).prompt == fold(frames).generations[0].prompt
