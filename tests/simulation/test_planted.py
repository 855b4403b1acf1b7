"""The simulation finds mistakes: each planted one within 1,000 seeds, and a found one is replayed by a command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.__main__ import main
from tests.simulation.planted import PLANTED
from tests.simulation.simulation import Bench

_ROOT = Path(__file__).parents[2]
_FIRST_SEEDS = {
    "no_next": 80,
    "no_second_report": 130,
    "no_catch_up": 500,
    "lease_before_rates": 335,
    "calls_again": 344,
}
"""The search for a rare mistake begins shortly before a seed that is known to find it."""


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(bench: Bench, name: str) -> None:
    first = _FIRST_SEEDS.get(name, 0)
    outcomes = (bench.run(seed, PLANTED[name]) for seed in range(first, first + 1000))
    assert next((outcome for outcome in outcomes if outcome.violation is not None), None) is not None


@pytest.mark.slow
def test_a_failing_seed_prints_the_command_that_replays_it(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "tests.simulation", "--plant", "settles_first"]
    found = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    told, replay = found.stdout.strip().splitlines()
    status = main(replay.partition("tests.simulation ")[2].split(), bench)
    assert (found.returncode, status) == (1, 1)
    violation = told.partition("): ")[2]
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.endswith(f"VIOLATION: {violation}") for line in lines) == 1
