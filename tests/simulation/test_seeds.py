"""No seed breaks a promise of the product: tokens once, in order and undisturbed; one bill; one end; all settle."""

from __future__ import annotations

import pytest

from tests.simulation.simulation import Bench

_NUM_SEEDS, _NUM_AT_ONCE = 200, 100
"""`make scoreboard` runs thousands, and the command `python -m tests.simulation` as many as one has time for."""
_RARE = 425
"""The search for all kinds of ends begins shortly before a seed with the rarest, a lost log."""


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, _NUM_SEEDS, _NUM_AT_ONCE))
def test_no_seed_fails(bench: Bench, first: int) -> None:
    outcomes = (bench.run(seed) for seed in range(first, first + _NUM_AT_ONCE))
    assert [outcome.told() for outcome in outcomes if outcome.violation is not None] == []


@pytest.mark.parametrize("seed", range(10))
def test_a_seed_gives_the_same_trace_twice(bench: Bench, seed: int) -> None:
    first, second = (bench.run(seed, traced=True) for _ in range(2))
    assert first.trace == second.trace and len(first.trace) > 20


def test_all_kinds_of_ends_are_met(bench: Bench) -> None:
    """Else the faults miss what they are for."""
    missing = {"done", "stopped", "taken back", "blocked blocked", "failed log_lost", "failed ended_workers"}
    for seed in range(_RARE, _RARE + 2000):
        outcome = bench.run(seed)
        assert outcome.violation is None, outcome.told()
        missing -= set(outcome.statuses)
        if not missing:
            break
    assert missing == set()
