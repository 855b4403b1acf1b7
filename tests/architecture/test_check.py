"""A lane runs the checks that its change needs, and its record tells of failed checks too."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.changed import Choice
from scripts.check import Result, files_of, page_checks, record, told
from tests import last_run
from tests.last_run import Run

FAILED_TEST = "tests/docs/test_links.py::test_it"
PASSED = Result("ruff check", 1.04, is_passed=True)
FAILED = Result("mypy", 30.0, is_passed=False)


def recorded(folder: Path, *results: Result) -> Run:
    record("all", list(results), 61.26, folder)
    run = last_run.read("last", folder)
    assert run
    return run


def test_a_failed_check_is_a_failure_of_the_run(tmp_path: Path) -> None:
    last_run.write(Run("all", passed=7), tmp_path)
    run = recorded(tmp_path, PASSED, FAILED, Result("pytest", 30.0, is_passed=True))
    assert (run.passed, run.failed, run.names_of_failed, run.seconds) == (7, 1, ["mypy"], 61.3)
    assert run.checks == {"ruff check": 1.0, "mypy": 30.0, "pytest": 30.0}


@pytest.mark.parametrize(("failed", "names"), [([FAILED_TEST], [FAILED_TEST]), ([], ["pytest"])])
def test_a_failed_pytest_counts_by_its_tests_if_it_names_any(
    tmp_path: Path, failed: list[str], names: list[str]
) -> None:
    last_run.write(Run("all", failed=len(failed), names_of_failed=failed), tmp_path)
    assert recorded(tmp_path, Result("pytest", 30.0, is_passed=False)).names_of_failed == names


def test_checks_without_a_run_of_pytest_are_recorded_alone(tmp_path: Path) -> None:
    run = recorded(tmp_path, FAILED)
    assert (run.lane, run.passed, run.names_of_failed) == ("all", 0, ["mypy"])


@pytest.mark.parametrize(
    ("choice", "options"),
    [
        (Choice(), None),
        (Choice(has_page=True), ["--", "--changed", "abc", "--passWithNoTests"]),
        (Choice(has_page=True, is_whole_page=True), []),
        (Choice(everything="pyproject.toml"), []),
    ],
)
def test_the_page_is_checked_as_far_as_it_changed(choice: Choice, options: list[str] | None) -> None:
    checks = page_checks(choice, "abc")
    assert [check.name for check in checks] == (
        [] if options is None else ["vitest", "eslint, prettier", "svelte-check"]
    )
    assert options is None or checks[0].command[4:] == options


def test_a_change_that_reaches_all_names_no_file() -> None:
    assert files_of(Choice(everything="pyproject.toml", tests={FAILED_TEST: "any"})) == []


def test_each_folder_is_told_with_its_reason() -> None:
    files = {"tests/webapp/usage/a/test_a.py": "it changed", "tests/webapp/usage/test_b.py": "it changed"}
    assert told(Choice(tests=files | {"tests/docs/test_c.py": "reads the whole tree"})).splitlines() == [
        "   1  tests/docs: reads the whole tree",
        "   2  tests/webapp/usage: it changed",
    ]
    assert told(Choice(everything="pyproject.toml")) == "  every test: pyproject.toml reaches all"
