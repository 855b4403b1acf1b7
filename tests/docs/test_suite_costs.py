"""docs/testing.md holds the table that the record of a whole run makes."""

from __future__ import annotations

import pytest

from scripts import suite_costs
from tests.last_run import Run

RUN = Run(
    "all",
    commit="0123456789abcdef",
    passed=6_929,
    failed=0,
    skipped=166,
    seconds=750.4,
    folders={"tests/browser": 293.4, "tests/webapp/usage": 16.0, "tests/docs": 4.0, "tests/webapp/lifecycle/live": 3.2},
    checks={"vitest": 61.0, "pytest": 640.0},
)
TABLE = """\
`make test` took 12.5 minutes at commit 01234567: 6,929 passed, 166 skipped, 0 failed.

| suite | seconds of one process |
|---|---|
| `tests/browser` | 293 |
| `tests/webapp/usage` | 16 |
| 2 more folders | 7 |
| vitest | 61 |"""


def test_a_table_has_the_dear_folders_and_the_sum_of_the_rest() -> None:
    assert suite_costs.table(RUN) == TABLE


def test_the_page_takes_the_table() -> None:
    stands = suite_costs.PAGE.read_text("utf-8")
    fresh = suite_costs.page(stands, RUN)
    assert TABLE in fresh
    assert fresh.partition(suite_costs.BEGIN)[0] == stands.partition(suite_costs.BEGIN)[0]
    assert fresh.partition(suite_costs.END)[2] == stands.partition(suite_costs.END)[2]


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks"):
        suite_costs.page("# Testing\n", RUN)
