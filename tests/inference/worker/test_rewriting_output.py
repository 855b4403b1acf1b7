"""Personal data and secrets never leave the worker, wherever their tokens are cut: no part of them, in no event."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inference.eventlog.clock import RequestClock, unix_us
from inference.protocol.events import (
    AnyEvent,
    DraftVerified,
    SafetyChecked,
    TextReleased,
    TextWithheld,
    TokenProposed,
    TokenSampled,
)
from inference.safety import Guard
from inference.safety.policy import load_policy
from inference.worker.output_guard import OutputGuard
from tests.inference.worker.test_output_guard import text_of, token

EMAIL = "anna.schmidt@example.co.uk"
WEB_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN"
DATA = {
    EMAIL: "e-mail",
    "+44 20 7946 0958": "phone number",
    "(212) 555-0123": "phone number",
    "4111 1111 1111 1111": "card number",
    "DE89 3704 0044 0532 0130 00": "bank account",
    "123-45-6789": "social security number",
    "AKIAIOSFODNN7EXAMPLE": "cloud key",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "access token",
    "sk-proj-Ab3dEf6hIj9kLm2nOp5q": "API key",
    "sg-4fJ0aZ9k7QmPlRsTuVwXyZ0123456789abcdefghijklmnopqrs": "API key",
    WEB_TOKEN: "web token",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----": "private key",
}
BEFORE = st.sampled_from(["", "Write to ", "It is:\n", "«", "The answer, of course, is <"])
AFTER = st.sampled_from(["", ", please.", "\nThat is all there is.", " ; and no more", ")!"])


def run(guard: Guard, pieces: Sequence[bytes], stop: tuple[str, ...] = ()) -> tuple[OutputGuard, list[AnyEvent]]:
    output = OutputGuard(guard, RequestClock(unix_us()), stop, is_guarded=True)
    events: list[AnyEvent] = []
    for position, piece in enumerate(pieces):
        output.add(token(position, piece))
        if output.is_due:
            events += output.release()
        if output.is_over:
            break
    return output, [*events, *output.flush()]


def cut(text: str, places: set[int]) -> list[bytes]:
    data = text.encode()
    bounds = sorted({0, len(data), *(place for place in places if place < len(data))})
    return [data[start:end] for start, end in pairwise(bounds)]


def told(events: Sequence[AnyEvent]) -> str:
    """All that the events tell of the answer, with the bytes of tokens as text."""
    tokens = [event for event in events if isinstance(event, TokenSampled)]
    pieces = [b"".join(each.piece for each in tokens), *(piece for each in tokens for piece in each.candidate_pieces)]
    guesses = [b"".join(event.pieces) for event in events if isinstance(event, DraftVerified)]
    known = b"\x00".join([*pieces, *guesses]).decode(errors="replace")
    return known + text_of(list(events)) + msgspec.json.encode(events).decode().replace("token.sampled", "")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(DATA)), BEFORE, AFTER, st.sets(st.integers(0, 160)))
def test_no_part_of_it_is_told_however_the_tokens_are_cut(
    guard: Guard, datum: str, before: str, after: str, places: set[int]
) -> None:
    output, events = run(guard, cut(before + datum + after, places))
    assert not output.is_blocked
    assert text_of(events) == f"{before}[{DATA[datum]}]{after}"
    said = told(events)
    assert not [start for start in range(len(datum) - 4) if datum[start : start + 5] in said]


@settings(max_examples=80, deadline=None)
@example([EMAIL, EMAIL, WEB_TOKEN, "🙂"], {110})
@example(["🙂", EMAIL], {1})
@example(["🙂", EMAIL], {1, 2, 3, 5})
@example(["🙂", EMAIL, "🙂", "7"], {3, 31})
@example([". ", "🙂", EMAIL, ". "], {3, 4})
@given(
    st.lists(st.sampled_from([*sorted(DATA), "a word", "x", " ", ". ", "🙂", "7"]), max_size=6),
    st.sets(st.integers(0, 300)),
)
def test_the_tokens_cover_the_text_that_is_shown(guard: Guard, parts: list[str], places: set[int]) -> None:
    pieces = cut("".join(parts), places)
    output, events = run(guard, pieces)
    tokens = [event for event in events if isinstance(event, TokenSampled)]
    if output.is_blocked:
        return
    assert [each.position for each in tokens] == list(range(len(pieces)))
    assert b"".join(each.piece for each in tokens).decode() == text_of(events)
    released = [event.num_tokens for event in events if isinstance(event, TextReleased)]
    assert released == sorted(released) and released[-1:] in ([], [len(pieces)])


def test_a_rewritten_token_tells_nothing_of_its_own(guard: Guard) -> None:
    _, events = run(guard, [b"Ask ", b"bob", b"@exam", b"ple.com", b" now."])
    tokens = [event for event in events if isinstance(event, TokenSampled)]
    assert [(each.piece, each.is_withheld) for each in tokens] == [
        (b"Ask ", False), (b"[e-mail]", True), (b"", True), (b"", True), (b" now.", False)
    ]  # fmt: skip
    for each in tokens[1:4]:
        assert (each.logprob, each.rank, each.entropy, each.u, each.high) == (None, None, None, None, None)
        assert not each.candidate_ids and each.processors is None and each.id >= 1 << 30


def test_the_check_names_the_kind_and_the_place_of_the_replacement(guard: Guard) -> None:
    _, events = run(guard, [b"Yes. ", b"Ask ", b"bob", b"@example.com", b", or not."])
    checks = [event for event in events if isinstance(event, SafetyChecked) and event.verdict == "rewrite"]
    (span,) = checks[0].findings
    shown = text_of(events)
    assert (span.kind, span.category, span.is_rewritten) == ("e-mail", "pii", True)
    assert shown[span.start : span.end] == "[e-mail]"
    assert checks[0].end <= len(shown)


def draft(at: int, pieces: list[bytes], num_accepted: int) -> DraftVerified:
    ids = tuple(range(at, at + len(pieces)))
    return DraftVerified(at=at, position=at, ids=ids, pieces=tuple(pieces), num_accepted=num_accepted, source="ngram")


@pytest.mark.parametrize("num_accepted", [0, 2, 3])
def test_no_guess_tells_of_what_was_rewritten(guard: Guard, num_accepted: int) -> None:
    output = OutputGuard(guard, RequestClock(unix_us()), (), is_guarded=True)
    pieces = [b"Ask ", b"bob", b"@example.com", b" now", b".\n"]
    output.add(token(0, pieces[0]))
    output.add_note(draft(1, pieces[1:4], num_accepted))
    events: list[AnyEvent] = []
    for position, piece in enumerate(pieces[1:], 1):
        output.add(token(position, piece))
        events += output.release() if output.is_due else []
    assert "example" not in told([*events, *output.flush()])


def test_a_stop_text_inside_it_tells_no_part_of_it(guard: Guard) -> None:
    _, events = run(guard, [b"Ask ", b"bob", b"@ex", b"ample.com", b" now"], stop=("le.com",))
    assert "bob" not in told(events) and "ample" not in told(events)


def test_invisible_characters_inside_it_do_not_hide_it(guard: Guard) -> None:
    _, events = run(guard, cut("Ask b\u200bob@exam\u2060ple.com now.", {4, 9, 15}))
    assert text_of(events) == "Ask [e-mail] now."


def test_a_policy_that_blocks_it_withholds_it_whole(guard: Guard) -> None:
    policy = load_policy()
    limits = msgspec.structs.replace(policy.output, rewrite={}, block=policy.output.block | {"pii": 0.5})
    strict = guard.under(msgspec.structs.replace(policy, output=limits))
    output, events = run(strict, [b"Ask ", b"bob", b"@exam", b"ple.com", b" now."])
    assert output.is_blocked and "bob" not in told(events)
    (withheld,) = (event for event in events if isinstance(event, TextWithheld))
    assert withheld.category == "pii" and text_of(events) == "Ask "


def test_in_step_mode_the_token_that_completes_it_is_not_proposed(guard: Guard) -> None:
    output = OutputGuard(guard, RequestClock(unix_us()), (), is_guarded=True)
    events: list[AnyEvent] = []
    for position, piece in enumerate([b"Ask ", b"bob", b"@example", b".com", b" now"]):
        events += output.propose(TokenProposed(at=position, token=token(position, piece)))
        if output.is_over:
            break
        output.add(token(position, piece))
    assert isinstance(events[-1], TextWithheld)
    assert ".com" not in told(events)


def test_an_answer_goes_on_after_a_lost_worker_behind_what_was_rewritten(guard: Guard) -> None:
    _, events = run(guard, [b"Ask ", b"bob", b"@example.com", b" now. "])
    tokens = [event for event in events if isinstance(event, TokenSampled)]
    output = OutputGuard(guard, RequestClock(unix_us()), (), is_guarded=True)
    output.resume(tokens, text_of(events), 0)
    output.add(token(4, b"Bye."))
    assert text_of(output.flush()) == "Bye."


@pytest.mark.parametrize(
    ("text", "is_refusal"), [("I'm sorry, but I can't help with that.", True), ("I can't wait to help.", False)]
)
def test_a_refusal_of_the_model_itself_is_told(guard: Guard, text: str, is_refusal: bool) -> None:
    _, events = run(guard, cut(text, set(range(0, 60, 4))))
    found = [event for event in events if isinstance(event, SafetyChecked) and event.layer == "refusal"]
    assert len(found) == is_refusal and text_of(events) == text
    if found:
        assert (found[0].verdict, text[: found[0].end]) == ("allow", "I'm sorry, but I can't help")
