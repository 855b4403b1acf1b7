"""A repetition is found at the token that completes it, and never in what people write."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.request import LONGEST_CYCLE, REPETITION_CYCLES, REPETITION_TOKENS
from inference.worker.repetition import Repetition


def found_at(ids: Sequence[int]) -> int | None:
    """How many tokens were read when it was found."""
    repetition = Repetition()
    return next((place for place, token in enumerate(ids, 1) if repetition.add(token)), None)


def is_repetition(ids: Sequence[int]) -> bool:
    """As the rule is told: for some size the end is so many equal cycles, or a part of one more."""
    for size in range(1, LONGEST_CYCLE + 1):
        length = max(REPETITION_CYCLES * size, REPETITION_TOKENS)
        end = list(ids[-length:])
        if len(end) == length and end[size:] == end[:-size]:
            return True
    return False


@given(
    st.lists(st.integers(0, 3), max_size=60),
    st.lists(st.integers(0, 3), min_size=1, max_size=40),
    st.integers(1, 120),
)
def test_it_is_found_where_the_rule_first_holds(before: list[int], cycle: list[int], times: int) -> None:
    ids = (before + cycle * times)[:400]
    expected = next((end for end in range(1, len(ids) + 1) if is_repetition(ids[:end])), None)
    assert found_at(ids) == expected


@pytest.mark.parametrize("size", [1, 5, 24, LONGEST_CYCLE])
def test_a_cycle_is_found_when_it_is_there_three_times_and_long_enough(size: int) -> None:
    ids = [1000, 1001, *list(range(size)) * 80]
    assert found_at(ids) == 2 + max(3 * size, REPETITION_TOKENS)


def test_a_longer_cycle_than_a_paragraph_is_not_looked_for() -> None:
    assert found_at(list(range(LONGEST_CYCLE + 1)) * 4) is None
