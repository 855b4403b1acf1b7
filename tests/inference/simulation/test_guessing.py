"""Guessing ahead by the engine's own prompt lookup: whatever is guessed, the answer stays the same."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.codec import encode_outcome
from inference.protocol.experiments import ExperimentOutcome, GuessRequest
from inference.simulation.guessing import guess

texts = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(tuple)


@given(prompt=texts, answer=texts, num_guesses=st.integers(0, 8))
def test_every_token_is_given_once_and_none_is_guessed_beyond_the_end(
    prompt: tuple[int, ...], answer: tuple[int, ...], num_guesses: int
) -> None:
    steps = guess(GuessRequest(prompt=prompt, answer=answer, num_guesses=num_guesses)).steps
    position = 0
    for step in steps:
        assert step.position == position
        assert len(step.guesses) <= num_guesses
        assert step.guesses[: step.num_accepted] == answer[position : position + step.num_accepted]
        wrong = step.guesses[step.num_accepted : step.num_accepted + 1]
        assert wrong != answer[position + step.num_accepted :][:1] or not wrong
        assert step.num_tokens == step.num_accepted + 1
        position += step.num_tokens
    assert position == len(answer)
    if num_guesses == 0:
        assert len(steps) == len(answer)


def test_what_was_said_before_is_guessed_and_new_text_is_not() -> None:
    verse = (10, 11, 12, 13, 14, 15, 16, 17)
    outcome = guess(GuessRequest(prompt=verse, answer=verse, num_guesses=4))
    assert len(outcome.steps) < len(verse)
    assert msgspec.json.decode(encode_outcome(outcome), type=ExperimentOutcome) == outcome
    fresh = tuple(range(100, 120))
    assert len(guess(GuessRequest(prompt=verse, answer=fresh, num_guesses=4)).steps) == len(fresh)
