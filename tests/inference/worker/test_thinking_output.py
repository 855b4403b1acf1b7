"""The output guard releases thinking apart from the answer, and says how it ended."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.eventlog.clock import RequestClock, unix_us
from inference.protocol.events import (
    AnyEvent,
    TextReleased,
    TextWithheld,
    ThinkingEnded,
    ThinkingReleased,
    TokenProposed,
    TokenSampled,
)
from inference.protocol.thinking import Thinking
from inference.safety import Guard
from inference.safety.policy import load_policy
from inference.worker.output_guard import OutputGuard
from tests.inference.worker.test_output_guard import token

OPEN = Thinking(begin="<think>", end="</think>", begin_ids=(1,), end_ids=(2,), is_open=True)
CLOSED = msgspec.structs.replace(OPEN, is_open=False)
THOUGHT = "Two and two.\nThat is four, I am sure."
ANSWER = "It is four."
WHOLE = f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}"


def output(guard: Guard, thinking: Thinking = CLOSED, stop: Sequence[str] = ()) -> OutputGuard:
    return OutputGuard(guard, RequestClock(unix_us()), stop, is_guarded=True, thinking=thinking)


def pieces_of(text: str, size: int = 4) -> list[bytes]:
    data = text.encode()
    return [data[start : start + size] for start in range(0, len(data), size)]


def tokens_of(pieces: Sequence[bytes]) -> list[TokenSampled]:
    return [token(position, piece) for position, piece in enumerate(pieces)]


def run(found: OutputGuard, tokens: Sequence[TokenSampled], is_flushed: bool = True) -> list[AnyEvent]:
    events: list[AnyEvent] = []
    for each in tokens:
        found.add(each)
        if found.is_due:
            events += found.release()
        if found.is_over:
            break
    return [*events, *(found.flush() if is_flushed else [])]


def said(events: Sequence[AnyEvent]) -> tuple[str, str]:
    thought = "".join(event.text for event in events if isinstance(event, ThinkingReleased))
    return thought, "".join(event.text for event in events if isinstance(event, TextReleased))


def ended(events: Sequence[AnyEvent]) -> ThinkingEnded:
    (found,) = (event for event in events if isinstance(event, ThinkingEnded))
    return found


@pytest.mark.parametrize("size", [1, 4, 7, 100])
def test_thinking_and_answer_are_released_apart(guard: Guard, size: int) -> None:
    tokens = tokens_of(pieces_of(WHOLE, size))
    events = run(output(guard), tokens)
    assert said(events) == (THOUGHT, ANSWER)
    assert [event for event in events if isinstance(event, TokenSampled)] == tokens
    length = WHOLE.index("</think>") + len("</think>")
    assert ended(events).num_tokens == -(-length // size)
    assert ended(events).cause == "model"


def test_the_thinking_comes_before_the_answer_in_the_log(guard: Guard) -> None:
    events = run(output(guard), tokens_of(pieces_of(WHOLE)))
    told = [type(each) for each in events if isinstance(each, ThinkingReleased | ThinkingEnded | TextReleased)]
    num_thoughts = told.count(ThinkingReleased)
    assert num_thoughts > 1
    assert told[: num_thoughts + 1] == [*[ThinkingReleased] * num_thoughts, ThinkingEnded]


def test_a_forced_tag_is_recorded_as_the_end(guard: Guard) -> None:
    tokens = tokens_of([b"Well, ", b"</think>", b"Yes."])
    tokens[1] = msgspec.structs.replace(tokens[1], chosen_by="budget")
    events = run(output(guard, OPEN), tokens)
    assert said(events) == ("Well,", "Yes.")
    assert (ended(events).cause, ended(events).num_tokens, ended(events).duration_us) == ("budget", 2, 1)


def test_thinking_that_breaks_off_is_cut(guard: Guard) -> None:
    events = run(output(guard, OPEN), tokens_of([b"Well, ", b"</th"]))
    assert said(events) == ("Well, </th", "")
    assert (ended(events).cause, ended(events).num_tokens) == ("cut", 2)


def test_an_answer_without_thinking_has_none(guard: Guard) -> None:
    events = run(output(guard), tokens_of(pieces_of(ANSWER)))
    assert said(events) == ("", ANSWER)
    assert not any(isinstance(event, ThinkingEnded | ThinkingReleased) for event in events)


def test_a_stop_text_ends_the_answer_alone(guard: Guard) -> None:
    found = output(guard, OPEN, stop=("four",))
    events = run(found, tokens_of(pieces_of(f"{THOUGHT}</think>{ANSWER}")))
    assert said(events) == (THOUGHT, "It is ")
    assert found.is_stopped


def test_data_in_the_thinking_are_replaced(guard: Guard) -> None:
    events = run(output(guard, OPEN), tokens_of(pieces_of("Ask bob@example.com first.</think>I may not say.")))
    thought, answer = said(events)
    assert (thought, answer) == ("Ask [e-mail] first.", "I may not say.")


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 9), num_before=st.integers(0, 60), stop=st.sampled_from([(), ("four.",), ("\n",)]))
def test_another_attempt_goes_on_alike(guard: Guard, size: int, num_before: int, stop: tuple[str, ...]) -> None:
    tokens = tokens_of(pieces_of(WHOLE, size))
    whole = run(output(guard, stop=stop), tokens)
    before = run(output(guard, stop=stop), tokens[:num_before], is_flushed=False)
    released = [event for event in before if isinstance(event, TokenSampled)]
    second = output(guard, stop=stop)
    second.resume(released, said(before)[1], num_withheld=0, thought=said(before)[0])
    after = [*before, *run(second, [] if second.is_over else tokens[len(released) :])]
    assert said(after) == said(whole)
    assert ended(after) == msgspec.structs.replace(ended(whole), at=ended(after).at)


def test_step_mode_shows_each_token(guard: Guard) -> None:
    tokens = tokens_of(pieces_of(WHOLE, 6))
    found, events = output(guard), list[AnyEvent]()
    for each in tokens:
        events += found.propose(TokenProposed(at=each.at, token=each))
        found.add(each)
    events += found.flush()
    assert said(events) == (THOUGHT, ANSWER)
    assert [event for event in events if isinstance(event, TokenSampled)] == tokens


def test_thoughts_that_break_the_policy_are_withheld(guard: Guard) -> None:
    policy = load_policy()
    output_layer = msgspec.structs.replace(policy.output, block=dict.fromkeys(policy.output.block, 0.0))
    blocking = guard.under(msgspec.structs.replace(policy, output=output_layer))
    events = run(output(blocking, OPEN), tokens_of(pieces_of(THOUGHT)))
    assert said(events) == ("", "")
    assert any(isinstance(event, TextWithheld) for event in events)
