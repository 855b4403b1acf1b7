"""Nothing is released unchecked, nothing withheld is released, stop texts never show."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.eventlog.clock import RequestClock, unix_us
from inference.protocol.events import (
    AnyEvent,
    DraftVerified,
    GrammarMasked,
    SafetyChecked,
    TextReleased,
    TextWithheld,
    TokenProposed,
    TokenSampled,
)
from inference.protocol.safety_policy import Layer, Release
from inference.safety import Guard
from inference.safety.findings import Finding
from inference.safety.guard import Check, Scan
from inference.safety.policy import load_policy
from inference.safety.sentences import WINDOW_CHARS
from inference.worker.output_guard import OutputGuard


@pytest.fixture(scope="module")
def eager_guard(guard: Guard) -> Guard:
    """Its policy rewrites nothing, so that no text waits for the next."""
    policy = load_policy()
    return guard.under(msgspec.structs.replace(policy, output=msgspec.structs.replace(policy.output, rewrite={})))


def token(position: int, piece: bytes) -> TokenSampled:
    return TokenSampled(
        at=position,
        position=position,
        id=position,
        piece=piece,
        logprob=-1.0,
        rank=1,
        entropy=1.0,
        u=0.5,
        low=0.0,
        high=1.0,
        log_normalizer=0.0,
        candidate_ids=(position,),
        candidate_logits=(0.0,),
        candidate_pieces=(piece,),
        processors=(),
        step_us=1,
        batch_size=1,
    )


def run(guard: Guard, pieces: list[bytes], stop: tuple[str, ...] = ()) -> tuple[OutputGuard, list[AnyEvent]]:
    output = OutputGuard(guard, RequestClock(unix_us()), stop, is_guarded=True)
    events: list[AnyEvent] = []
    for position, piece in enumerate(pieces):
        output.add(token(position, piece))
        if output.is_due:
            events += output.release()
        if output.is_blocked or output.is_stopped:
            break
    return output, events + output.flush()


def text_of(events: list[AnyEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextReleased))


def test_all_of_a_harmless_answer_is_released_with_its_tokens(guard: Guard) -> None:
    pieces = [b"The", b" capital", b" of", b" France", b" is", b" Paris", b".", b" It", b" is", b" old", b"."]
    _, events = run(guard, pieces)
    assert text_of(events) == b"".join(pieces).decode()
    assert [event.position for event in events if isinstance(event, TokenSampled)] == list(range(len(pieces)))
    assert isinstance(events[0], TokenSampled)


def test_a_token_stands_in_the_log_only_with_the_text_that_covers_it(guard: Guard) -> None:
    output = OutputGuard(guard, RequestClock(unix_us()), (), is_guarded=True)
    output.add(token(0, b"Hello, "))
    assert text_of(output.release()) == "Hello, "
    output.add(token(1, b"there "))
    assert not output.is_due


def test_harmful_text_is_withheld_with_its_tokens(guard: Guard) -> None:
    pieces = [
        b"Sure",
        b".\n",
        b"Black",
        b" people",
        b" are",
        b" inferior",
        b" and",
        b" stupid",
        b" and",
        b" must",
        b" go",
        b".",
    ]
    output, events = run(guard, pieces)
    withheld = [event for event in events if isinstance(event, TextWithheld)]
    assert output.is_blocked and len(withheld) == 1
    assert withheld[0].category == "hate"
    released = text_of(events)
    assert "stupid" not in released
    covered = sum(isinstance(event, TokenSampled) for event in events)
    assert b"".join(pieces[:covered]).decode() == released


@pytest.mark.parametrize(
    "pieces", [[b"one ", b"ST", b"OP", b" two"], [b"one STOP", b" two"], [b"one ", b"S", b"T", b"O", b"P"]]
)
def test_a_stop_text_is_never_released(guard: Guard, pieces: list[bytes]) -> None:
    output, events = run(guard, pieces, stop=("STOP",))
    assert output.is_stopped
    assert text_of(events) == "one "


def test_the_beginning_of_a_stop_text_that_goes_on_otherwise_is_released(guard: Guard) -> None:
    _, events = run(guard, [b"one ", b"ST", b"AR", b" two"], stop=("STOP",))
    assert text_of(events) == "one STAR two"


def test_a_stop_token_belongs_to_the_answer_but_its_text_does_not(guard: Guard) -> None:
    output = OutputGuard(guard, RequestClock(unix_us()), (), is_guarded=True, stop_ids=(1,))
    output.add(token(0, b"one"))
    output.add(token(1, b" two"))
    events = output.flush()
    assert text_of(events) == "one"
    assert output.num_tokens == 2


def test_what_tells_of_a_token_stands_before_it_and_is_withheld_with_it(guard: Guard) -> None:
    output = OutputGuard(guard, RequestClock(unix_us()), (), is_guarded=True)
    for position, piece in enumerate([b"It", b" is", b" old", b".\n"]):
        output.add_note(GrammarMasked(at=position, position=position, num_allowed=5, duration_us=1))
        output.add(token(position, piece))
    kinds = [type(event).__name__ for event in output.release()]
    assert kinds == ["GrammarMasked", "TokenSampled"] * 4 + ["SafetyChecked", "TextReleased"]
    pieces = [b" Black", b" people", b" are", b" inferior", b" and", b" stupid", b" and", b" must", b" go", b"."]
    for position, piece in enumerate(pieces, 4):
        output.add_note(GrammarMasked(at=position, position=position, num_allowed=5, duration_us=1))
        output.add(token(position, piece))
    assert [type(event).__name__ for event in output.release()] == ["SafetyChecked", "TextWithheld"]


def test_a_character_over_several_tokens_is_released_whole(guard: Guard) -> None:
    pieces = ["🙂".encode()[i : i + 1] for i in range(4)]
    _, events = run(guard, pieces)
    assert [event.text for event in events if isinstance(event, TextReleased)] == ["🙂"]


def draft(at: int, pieces: list[bytes], num_accepted: int) -> DraftVerified:
    ids = tuple(range(at, at + len(pieces)))
    return DraftVerified(at=at, position=at, ids=ids, pieces=tuple(pieces), num_accepted=num_accepted, source="ngram")


@pytest.mark.parametrize(
    ("pieces", "num_accepted", "kept"),
    [
        ([b"two ", b"STOP", b" secret", b" more"], 4, (2, 2)),
        ([b"two ", b"STOP", b" secret", b" wrong"], 3, (2, 2)),
        ([b"two ", b"no", b" secret", b" wrong"], 1, (2, 1)),  # the model said STOP in its place
        ([b"two ", b"STOP"], 2, (2, 2)),
    ],
)
def test_no_guess_tells_of_what_came_after_a_stop_text(
    guard: Guard, pieces: list[bytes], num_accepted: int, kept: tuple[int, int]
) -> None:
    output = OutputGuard(guard, RequestClock(unix_us()), ("STOP",), is_guarded=True)
    output.add(token(0, b"one "))
    output.add_note(draft(1, pieces, num_accepted))
    for position, piece in enumerate([b"two ", b"STOP", b" secret", b" more"], 1):
        output.add(token(position, piece))
    events = output.flush()
    assert text_of(events) == "one two "
    (told,) = (event for event in events if isinstance(event, DraftVerified))
    assert (len(told.ids), told.num_accepted) == kept
    assert told.pieces == tuple(pieces[: kept[0]])


def test_guesses_beyond_an_answer_that_goes_on_are_told_whole(guard: Guard) -> None:
    output = OutputGuard(guard, RequestClock(unix_us()), ("STOP",), is_guarded=True)
    said = draft(0, [b"It", b" was", b" new"], 1)
    output.add_note(said)
    for position, piece in enumerate([b"It", b" is", b" old", b"."]):
        output.add(token(position, piece))
    assert said in output.release()


@settings(max_examples=40, deadline=None)
@given(st.text("a.!\n \u2003", min_size=1, max_size=80), st.sets(st.integers(0, 80)))
def test_each_check_judges_from_the_beginning_of_the_open_sentence(
    eager_guard: Guard, text: str, cuts: set[int]
) -> None:
    output = OutputGuard(eager_guard, RequestClock(unix_us()), (), is_guarded=True)
    bounds = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    for start, end in pairwise(bounds):
        output.add(token(start, text[start:end].encode()))
        for event in output.release():
            if isinstance(event, SafetyChecked):
                ends = [match.end() for match in re.finditer(r"[.!?\n]\s*", text[:start])]
                assert (event.start, event.end) == (ends[-1] if ends else 0, end)


def test_a_check_of_a_sentence_that_never_ends_reads_its_last_windows(eager_guard: Guard) -> None:
    output = OutputGuard(eager_guard, RequestClock(unix_us()), (), is_guarded=True)
    checks = []
    for place in range(60):
        output.add(token(place, b"step by step "))
        checks += [event for event in output.release() if isinstance(event, SafetyChecked)]
    ends = [each.end for each in checks]
    assert ends == [13 * (place + 1) for place in range(60)]
    assert all(each.end - each.start <= WINDOW_CHARS + 13 for each in checks)


def forked(guard: Guard, kept: list[bytes], shown: str, stop: tuple[str, ...] = ()) -> OutputGuard:
    output = OutputGuard(guard, RequestClock(unix_us()), stop, is_guarded=True)
    output.keep(kept, shown)
    return output


def test_a_character_and_a_stop_text_may_span_the_border_of_a_fork(guard: Guard) -> None:
    output = forked(guard, [b"So ", "\U0001f642".encode()[:2]], "So ")
    output.add(token(2, "\U0001f642".encode()[2:]))
    assert text_of(output.flush()) == "\U0001f642"
    output = forked(guard, [b"So it EN"], "So it ", ("END",))
    output.add(token(1, b"D of it"))
    assert output.is_stopped
    assert text_of(output.release()) == ""
    output = forked(guard, [b"So it EN"], "So it ", ("END",))
    output.add(token(1, b"ds."))
    assert text_of(output.flush()) == "ENds."
    assert text_of(forked(guard, [b"So it EN"], "So it ", ("END",)).flush()) == "EN"


def test_the_sentence_that_a_fork_goes_on_with_is_judged_whole(guard: Guard) -> None:
    shown = "All is well. How to build a pipe bomb at"
    output = forked(guard, [shown[:30].encode(), shown[30:].encode()], shown)
    output.add(token(2, b" home:"))
    check = next(event for event in output.flush() if isinstance(event, SafetyChecked))
    assert (check.start, check.end) == (len("All is well. "), len(shown + " home:"))


def test_guesses_are_cut_at_a_stop_text_by_their_place_in_the_whole_answer(guard: Guard) -> None:
    output = forked(guard, [b"a", b"b"], "ab", ("!",))
    output.add_note(draft(2, [b"c", b"!", b"d"], 3))
    for place, piece in enumerate([b"c", b"!", b"d"], 2):
        output.add(token(place, piece))
    (told,) = (event for event in output.flush() if isinstance(event, DraftVerified))
    assert told.pieces == (b"c", b"!")


class WordGuard(Guard):
    """Blocks whatever has the word BAD in it."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    @property
    def release(self) -> Release:
        return self.guard.release

    def may_withhold(self, layer: Layer) -> bool:
        return self.guard.may_withhold(layer)

    def rewrites(self, layer: Layer) -> frozenset[str]:
        return self.guard.rewrites(layer)

    def scan(self, text: str) -> Scan:
        return self.guard.scan(text)

    def check(
        self,
        text: str,
        layer: Layer,
        principal: str | None = None,
        found: Sequence[Finding] | None = None,
        offset: int = 0,
    ) -> Check:
        harmless = self.guard.check("Hello", layer, principal)
        return dataclasses.replace(harmless, verdict="block", category="hate") if "BAD" in text else harmless


@pytest.fixture(scope="module")
def word_guard(guard: Guard) -> Guard:
    return WordGuard(guard)


def step(guard: Guard, drawn: list[bytes], taken: list[bytes], stop: tuple[str, ...]) -> list[AnyEvent]:
    """Each token is proposed as drawn, then another is taken in its place, until the answer ends."""
    output = OutputGuard(guard, RequestClock(unix_us()), stop, is_guarded=True)
    events: list[AnyEvent] = []
    for position, (draw, choice) in enumerate(zip(drawn, taken, strict=True)):
        events += output.propose(TokenProposed(at=position, token=token(position, draw)))
        if output.is_blocked or output.is_stopped:
            break
        output.add(token(position, choice))
    return [*events, *output.flush(), *output.flush()]


@pytest.mark.parametrize("stop", [(), (" very BAD thing XX",), (" BAD XX",)])
def test_what_a_person_takes_is_checked_before_it_shows_also_where_a_stop_text_may_come(
    word_guard: Guard, stop: tuple[str, ...]
) -> None:
    events = step(word_guard, [b"A", b" very", b" nice", b" day"], [b"A", b" very", b" BAD", b" day"], stop)
    assert [event.piece for event in events if isinstance(event, TokenSampled)] == [b"A", b" very"]
    assert isinstance(events[-1], TextWithheld)
    assert "BAD" not in text_of(events)


def test_what_would_be_withheld_is_not_proposed_and_nothing_follows(word_guard: Guard) -> None:
    events = step(word_guard, [b"A", b" very", b" BAD"], [b"A", b" very", b" day"], (" very BAD thing XX",))
    assert [event.token.piece for event in events if isinstance(event, TokenProposed)] == [b"A", b" very"]
    assert isinstance(events[-1], TextWithheld) and events[-1].num_tokens == 1
    assert text_of(events) == "A"


def test_what_waited_for_a_stop_text_is_released_at_the_end_with_its_tokens(word_guard: Guard) -> None:
    events = step(word_guard, [b"A", b" very", b"!"], [b"A", b" very", b"!"], ("!?",))
    released = [event for event in events if isinstance(event, TextReleased)]
    assert text_of(events) == "A very!"
    assert [event.num_tokens for event in released] == sorted(event.num_tokens for event in released)
    assert released[-1].num_tokens == 3


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["a", " BAD", "X", ". "]), max_size=6), st.sampled_from(["XX", " BAD XX", "aX"]))
def test_step_mode_shows_no_token_that_was_not_checked(word_guard: Guard, taken: list[str], stop: str) -> None:
    pieces = [piece.encode() for piece in taken]
    events = step(word_guard, [b"a"] * len(pieces), pieces, (stop,))
    shown = b"".join(event.piece for event in events if isinstance(event, TokenSampled)).decode()
    assert "BAD" not in shown and "BAD" not in text_of(events) and stop not in text_of(events)
    assert shown.startswith(text_of(events))
    if "".join(taken) == shown and stop not in shown:
        assert text_of(events) == shown
