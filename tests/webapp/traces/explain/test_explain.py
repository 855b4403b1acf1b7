"""A trace in words and figures equals what its events say."""

from __future__ import annotations

import pytest

from inference.protocol.events import CacheLookedUp, ContextAssembled, Frame, TextReleased, TokenSampled
from tests.golden.test_exports import LOGS, golden, read
from webapp.traces.explain.brief import MAX_TEXT_CHARS, NotTold, clipped, tell
from webapp.traces.explain.difference import differ
from webapp.traces.explain.sentences import explain


@pytest.fixture(params=LOGS, ids=lambda path: path.stem)
def frames(request: pytest.FixtureRequest) -> list[Frame]:
    return read(request.param)


def events(frames: list[Frame], kind: type) -> list:  # type: ignore[type-arg]
    return [event for frame in frames for event in frame.events if isinstance(event, kind)]


def test_it_tells_what_the_log_tells(frames: list[Frame]) -> None:
    told = tell(frames)
    released = "".join(event.text for event in events(frames, TextReleased))
    assert "".join(each.text for each in told.rounds).endswith(released[-20:])
    contexts = events(frames, ContextAssembled)
    assert [sum(part.num_tokens for part in each.prompt) for each in told.rounds if each.prompt] == [
        context.num_prompt_tokens for context in contexts
    ]


def test_the_cached_tokens_of_the_parts_add_up(frames: list[Frame]) -> None:
    told, looked_up = tell(frames), events(frames, CacheLookedUp)
    if not looked_up:
        assert all(part.num_cached_tokens is None for each in told.rounds for part in each.prompt)
        return
    found = sum(part.num_cached_tokens or 0 for part in told.rounds[0].prompt)
    assert found == looked_up[0].num_cached_tokens


def test_each_statement_is_a_sentence(frames: list[Frame]) -> None:
    statements = explain(frames)
    assert statements and all(each.text.endswith(".") and each.stage for each in statements)


def test_a_lost_worker_is_told() -> None:
    texts = [each.text for each in explain(golden("taken_over"))]
    assert any("was lost after" in text for text in texts)


def test_calls_of_tools_are_told() -> None:
    told = tell(golden("two_generations"))
    assert len(told.rounds) == 2


def test_a_trace_equals_itself(frames: list[Frame]) -> None:
    found = differ(frames, frames)
    assert found.params == {} and all(a == b for a, b in found.figures.values())
    if found.is_same_tokenizer:
        assert found.prompt is not None and found.prompt.is_equal
        assert found.answer is not None and found.answer.num_common == len(events(frames, TokenSampled))


def test_two_traces_part_at_their_first_different_token() -> None:
    found = differ(golden("finished"), golden("second_turn"))
    assert found.prompt is not None and not found.prompt.is_equal and found.prompt.a != found.prompt.b


def test_a_log_without_its_beginning_is_not_told() -> None:
    with pytest.raises(NotTold):
        tell(golden("finished")[1:])


def test_a_long_text_is_cut_and_said_to_be() -> None:
    assert clipped("a" * (MAX_TEXT_CHARS + 5)).endswith("(5 more characters)")
    assert clipped("short") == "short"
