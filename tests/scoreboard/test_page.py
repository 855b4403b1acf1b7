"""The page of the scoreboard says what was measured, and of each other row that it is not proven."""

from __future__ import annotations

from tests.scoreboard.page import PAGE, Told, read, text_of
from tests.scoreboard.row import Measured, judged
from tests.scoreboard.rows import PROOFS, ROWS
from tests.scoreboard.suite import ROOT


def test_the_page_is_the_one_of_the_kept_results() -> None:
    assert PAGE.read_text("utf-8") == text_of(read())


def test_a_row_without_a_trial_is_not_proven() -> None:
    assert text_of({}).count("not proven here") == len(ROWS)


def test_a_problem_is_named_beside_its_figure() -> None:
    measured: Measured = judged("soon", "p95 4.0 s", ["a", "b", "c", "d"])
    line = next(each for each in text_of({"soon": Told.of(measured, 7)}).splitlines() if "It goes on soon" in each)
    assert "p95 4.0 s. a; b; c and 1 more. Seed 7" in line and line.endswith("| not kept |")


def test_every_proof_is_of_a_row_and_its_tests_are_there() -> None:
    assert PROOFS.keys() <= {row.key for row in ROWS}
    assert all((ROOT / tests.split()[0]).exists() for proof in PROOFS.values() for tests in proof)
    assert len({row.key for row in ROWS}) == len(ROWS)
