"""Guesses from the text itself, and when they pay."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.engine.drafting.draft import MAX_DRAFTS, Drafter, NgramIndex, best_length, guess_costs
from inference.engine.drafting.step_costs import StepCosts


def costs(step_us: float, row_us: float) -> StepCosts:
    """Of an engine that has seen steps of one row, of five and of fifty."""
    result = StepCosts()
    for num_rows in (1, 5, 50) * 20:
        result.add_decode(num_rows, step_us + row_us * num_rows)
    return result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abcdefg abc", "defg"),
        ("xbcde abcfg zbc", "fg z"),  # the last time counts
        ("abcX ybcZ abc", "X yb"),  # three letters say more than two
        ("no such thing", ""),
        ("ababab", "abab"),  # a repetition is taken to go on
        ("a", ""),
        ("", ""),
    ],
)
def test_what_followed_last_time_is_proposed(text: str, expected: str) -> None:
    assert "".join(map(chr, NgramIndex().propose([ord(letter) for letter in text], 4))) == expected


@given(st.text("abc", max_size=60), st.integers(1, 8))
def test_a_text_that_grows_gives_the_same_guesses_as_one_that_is_whole(text: str, num_tokens: int) -> None:
    growing = NgramIndex()
    ids = [ord(letter) for letter in text]
    for end in range(1, len(ids) + 1):
        assert growing.propose(ids[:end], num_tokens) == NgramIndex().propose(ids[:end], num_tokens)


def test_nothing_is_guessed_before_the_first_step_was_measured() -> None:
    assert best_length(1.0, guess_costs(1, StepCosts())) == 0


def test_guesses_are_tried_while_the_price_of_a_row_is_unknown() -> None:
    same = StepCosts()
    for _ in range(3):
        same.add_decode(1, 4000)
    assert best_length(0.4, guess_costs(1, same)) > 0


@given(st.floats(0, 1), st.integers(1, 32), st.floats(1, 1e5), st.floats(1, 1e5))
def test_a_draft_raises_the_tokens_per_second_that_are_expected(
    acceptance: float, batch_size: int, step_us: float, row_us: float
) -> None:
    known = costs(step_us, row_us)
    length = best_length(acceptance, guess_costs(batch_size, known))
    assert 0 <= length <= MAX_DRAFTS
    plain_us = known.decode_us(batch_size)
    assert plain_us is not None

    def rate(num_drafts: int) -> float:
        expected = sum(acceptance**n for n in range(1, num_drafts + 1))
        return (batch_size + expected) / (plain_us + num_drafts * row_us)

    assert rate(length) >= rate(0) * (1 - 1e-6)


def test_cheap_rows_and_good_guesses_make_long_drafts() -> None:
    assert best_length(0.9, guess_costs(1, costs(4000, 100))) == MAX_DRAFTS
    assert best_length(0.3, guess_costs(1, costs(4000, 300))) in (1, 2)
    assert best_length(0.3, guess_costs(32, costs(4000, 300))) == 0


def test_wrong_guesses_end_them_and_time_brings_them_back() -> None:
    drafter, known, ids = Drafter(), costs(4000, 2000), [1, 2, 3] * 5
    for _ in range(30):
        if drafts := drafter.look_up(ids, drafter.num_wanted(8, guess_costs(1, known))):
            drafter.verified(len(drafts), 0)
    assert drafter.look_up(ids, drafter.num_wanted(8, guess_costs(1, known))) == ()
    assert any(drafter.look_up(ids, drafter.num_wanted(8, guess_costs(1, known))) for _ in range(300))


def test_the_last_free_tokens_bound_a_draft() -> None:
    known = costs(4000, 1)
    assert Drafter().num_wanted(2, guess_costs(1, known)) == len(Drafter().look_up([1, 2, 3] * 5, 2)) == 2
    assert Drafter().num_wanted(0, guess_costs(1, known)) == Drafter().num_wanted(-1, guess_costs(1, known)) == 0
    assert Drafter().look_up([1, 2, 3] * 5, 0) == ()


def test_guesses_that_take_time_must_yield_more() -> None:
    known = costs(4000, 100)
    assert best_length(0.9, guess_costs(1, known, guess_us=500)) == MAX_DRAFTS
    assert 0 < best_length(0.5, guess_costs(1, known, guess_us=500)) < best_length(0.5, guess_costs(1, known))
    assert best_length(0.5, guess_costs(1, known, guess_us=4000)) == 0


def test_a_steps_cost_is_read_between_and_beyond_the_sizes_seen() -> None:
    known = costs(3000, 500)
    assert [known.decode_us(num_rows) for num_rows in (1, 3, 8)] == pytest.approx([3500, 4500, 7000])


def test_on_a_machine_that_interrupts_most_steps_a_draft_saves_such_steps() -> None:
    busy = StepCosts()
    for us in (4000, 30_000, 40_000) * 4:
        busy.add_decode(1, us)
    for _ in range(3):
        busy.add_decode(3, 35_000)
    assert busy.decode_us(3) == 35_000
    assert best_length(0.9, guess_costs(1, busy)) > 0


def test_the_last_durations_count_and_sizes_not_seen_again_are_forgotten() -> None:
    known = costs(3000, 500)
    for _ in range(20):
        known.add_decode(1, 4000)
    assert known.decode_us(1) == 4000 and known.decode_us(5) == 5500
    for _ in range(600):
        known.add_decode(1, 4000)
    assert known.is_due(1) and known.decode_us(5) == 4000


@given(
    st.lists(st.tuples(st.integers(1, 12), st.floats(1, 1000)), max_size=60),
    st.lists(st.integers(1, 12), min_size=2, max_size=4, unique=True),
    st.randoms(),
)
def test_interrupted_steps_change_no_cost_as_long_as_some_are_not(
    interrupted: list[tuple[int, float]], sizes: list[int], random: Random
) -> None:
    """Where the steps of the smallest and the largest size are not all interrupted, the line is found exactly."""
    outer = {min(sizes), max(sizes)}
    noise = [step for step in interrupted if min(outer) <= step[0] <= max(outer)][:13]  # all are kept
    steps = [(num_rows, 1.0) for num_rows in outer for _ in range(3)] + noise
    random.shuffle(steps)
    known = StepCosts()
    for num_rows, slowdown in steps:
        known.add_decode(num_rows, (3000 + 500 * num_rows) * slowdown)
    for num_rows in range(1, 13):
        assert known.decode_us(num_rows) == pytest.approx(3000 + 500 * num_rows)
