"""Tokens that a fork takes over: the parent's own as far as they were not edited; and reasons to refuse a fork."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.eventlog.clock import RequestClock
from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationForked,
    PromptTokenized,
    TextReleased,
    TokenSampled,
)
from inference.protocol.request import SamplingParams
from inference.tokenization.tokenizer import Tokenizer
from inference.worker.output_guard import OutputGuard
from webapp.lifecycle.fork import (
    CannotFork,
    Parent,
    check_length,
    check_room,
    fork_at,
    fork_with,
    is_within_word,
    parent_of,
    shown_text,
)

TEXTS = st.text(st.sampled_from("ab cde.\n ﬁ中🙂né"), max_size=24)


def sampled(position: int, token: int, is_shown: bool = True) -> TokenSampled:
    return TokenSampled(
        at=position,
        position=position,
        id=token,
        piece=b"",
        is_shown=is_shown,
        logprob=None,
        rank=None,
        entropy=None,
        u=None,
        low=None,
        high=None,
        log_normalizer=None,
        candidate_ids=(),
        candidate_logits=(),
        candidate_pieces=(),
        processors=None,
        step_us=None,
        batch_size=None,
    )


def prompt(tokenizer: Tokenizer, num_tokens: int = 4, window: int = 100, version: str = "") -> list[AnyEvent]:
    ids = tuple(range(num_tokens))
    context = ContextAssembled(
        at=0, window=window, reserved_output=8, num_prompt_tokens=num_tokens, segments=(), duration_us=1
    )
    tokenized = PromptTokenized(
        at=0,
        tokenizer=tokenizer.name,
        version=version or tokenizer.version,
        ids=ids,
        pieces=tuple(map(tokenizer.label, ids)),
        duration_us=1,
    )
    return [context, tokenized]


def parent(tokenizer: Tokenizer, ids: list[int], num_shown: int | None = None) -> Parent:
    shown = len(ids) if num_shown is None else num_shown
    answer = [sampled(place, token, place < shown) for place, token in enumerate(ids)]
    return parent_of([*prompt(tokenizer), *answer], tokenizer, "m")


def test_a_chosen_token_follows_the_parents_own(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("The sky is blue today.")
    found = parent(tokenizer, ids)
    assert fork_at(found, tokenizer, 1000, 2, 77).ids == (*ids[:2], 77)
    assert fork_at(found, tokenizer, 1000, len(ids), None).ids == tuple(ids)


def test_a_fork_of_a_fork_keeps_what_both_kept(tokenizer: Tokenizer) -> None:
    first, second = tokenizer.encode("The sky is"), tokenizer.encode(" very blue")
    forked = GenerationForked(at=0, from_request_id="req_1", position=1, ids=tuple(first), pieces=(), text="")
    answer = [sampled(len(first) + place, token) for place, token in enumerate(second)]
    found = parent_of([*prompt(tokenizer), forked, *answer], tokenizer, "m")
    assert fork_at(found, tokenizer, 1000, len(first) + 1, None).ids == (*first, second[0])


@pytest.mark.parametrize(
    ("position", "token", "code", "field"),
    [
        (-1, None, "unknown_position", "position"),
        (5, None, "unknown_position", "position"),
        (4, None, "ends_answer", "position"),
        (0, -1, "unknown_token", "token_id"),
        (0, 1000, "unknown_token", "token_id"),
        (0, 2, "ends_answer", "token_id"),
        (0, 1, "control_token", "token_id"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    tokenizer: Tokenizer, position: int, token: int | None, code: str, field: str
) -> None:
    end = tokenizer.special_ids["<|im_end|>"]
    assert (tokenizer.special_ids["<|im_start|>"], end) == (1, 2)
    found = parent(tokenizer, [50, 51, 52, end])
    with pytest.raises(CannotFork) as refused:
        fork_at(found, tokenizer, 1000, position, token)
    assert (refused.value.code, refused.value.field) == (code, field)


def test_tokens_that_a_server_did_not_show_are_not_kept(tokenizer: Tokenizer) -> None:
    found = parent(tokenizer, [50, 51, 52], num_shown=1)
    assert fork_at(found, tokenizer, 1000, 1, None).ids == (50,)
    with pytest.raises(CannotFork, match="are recorded"):
        fork_at(found, tokenizer, 1000, 2, None)


def test_a_request_without_a_prompt_or_of_another_model_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(CannotFork, match="never reached the model"):
        parent_of([], tokenizer, "m")
    with pytest.raises(CannotFork, match="another tokenizer"):
        parent_of(prompt(tokenizer, version="other"), tokenizer, "m")


def test_nothing_could_follow(tokenizer: Tokenizer) -> None:
    found = parent(tokenizer, [50, 51, 52])
    fork = fork_at(found, tokenizer, 1000, 3, None)
    check_room(fork, found, SamplingParams(max_tokens=4))
    with pytest.raises(CannotFork, match="more than 3"):
        check_room(fork, found, SamplingParams(max_tokens=3))
    full = parent_of([*prompt(tokenizer, window=7), *(sampled(place, 50) for place in range(3))], tokenizer, "m")
    with pytest.raises(CannotFork, match="fill the window"):
        check_room(fork, full, SamplingParams())


@given(answer=TEXTS, cut=st.integers(0, 24), written=TEXTS)
def test_an_edited_text_is_what_the_answer_begins_with(
    tokenizer: Tokenizer, answer: str, cut: int, written: str
) -> None:
    """Whatever was kept and cut anew spells the text, and what is kept are the parent's own tokens."""
    ids = tokenizer.encode(answer)
    text = answer[:cut] + written
    fork = fork_with(parent(tokenizer, ids), tokenizer, text)
    assert fork.ids[: fork.position] == tuple(ids[: fork.position])
    assert b"".join(map(tokenizer.piece, fork.ids)) == text.encode()


@given(text=st.one_of(TEXTS, st.integers(0, 300).map("#".__mul__)), most=st.integers(1, 30))
def test_no_text_is_refused_by_its_length_that_would_have_room(tokenizer: Tokenizer, text: str, most: int) -> None:
    params = SamplingParams(max_tokens=most)
    try:
        check_length(text, tokenizer, 100, params)
    except CannotFork:
        assert len(tokenizer.encode(text)) >= most


def test_a_text_far_too_long_is_refused_before_it_is_cut_into_tokens(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Tokenizer, "encode")
    text = "word " * 50_000
    with pytest.raises(CannotFork, match="max_tokens must be more than") as found:
        check_length(text, tokenizer, 2048, SamplingParams())
    assert found.value.field == "params.max_tokens"
    with pytest.raises(CannotFork, match="fills the window of 2048") as found:
        check_length(text, tokenizer, 2048, SamplingParams(max_tokens=100_000))
    assert (found.value.code, found.value.field) == ("window_full", None)


@given(text=TEXTS, end=st.integers(0, 99))
def test_a_cut_is_judged_by_the_characters_beside_it(text: str, end: int) -> None:
    data = text.encode()
    end = min(end, len(data))
    try:
        before, after = data[:end].decode(), data[end:].decode()
    except UnicodeDecodeError:
        assert is_within_word(data, end)
    else:
        assert is_within_word(data, end) == (before[-1:].isalnum() and after[:1].isalnum())


def test_an_answer_that_is_only_continued_keeps_all_its_tokens(tokenizer: Tokenizer) -> None:
    # Cut otherwise than the tokenizer would: the model may write a word in any pieces.
    ids = [token for part in ("The s", "ky is bl", "ue.") for token in tokenizer.encode(part)]
    assert ids != tokenizer.encode("The sky is blue.")
    fork = fork_with(parent(tokenizer, ids), tokenizer, "The sky is blue. And the sea?")
    assert (fork.position, fork.ids[: len(ids)]) == (len(ids), tuple(ids))


def test_a_word_that_is_changed_at_its_end_is_cut_anew(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("One cat")
    fork = fork_with(parent(tokenizer, ids), tokenizer, "One cats")
    assert list(fork.ids) == tokenizer.encode("One cats")
    assert fork.position == 1


@given(text=TEXTS, cut=st.integers(0, 40), stop=st.sampled_from([(), ("a b",), ("中🙂", "e.")]))
def test_what_is_shown_and_what_waits_are_all_that_is_kept(text: str, cut: int, stop: tuple[str, ...]) -> None:
    """At any byte: no character is parted and no stop text begun, and the worker goes on exactly there."""
    pieces = [bytes([byte]) for byte in text.encode()[:cut]]
    shown = shown_text(pieces, stop).text
    assert "\ufffd" not in shown
    guard = OutputGuard(None, RequestClock(0), stop, is_guarded=False)  # type: ignore[arg-type]
    guard.keep(pieces, shown)
    waiting = "".join(event.text for event in guard.release() if isinstance(event, TextReleased))
    whole = shown + waiting
    begun = (size for each in stop for size in range(1, len(each)) if whole.endswith(each[:size]))
    assert len(waiting) == max(begun, default=0)
    num_bytes = len(whole.encode())
    assert whole.encode() == b"".join(pieces)[:num_bytes]
    assert len(pieces) - num_bytes < 4
