"""Each run leaves a record of what it did and where its time went, of one process or of several."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import last_run
from tests.last_run import Run, SlowPart

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TESTS = """
import time
import pytest

@pytest.fixture
def prepared():
    time.sleep({seconds})

def test_passes(prepared):
    pass

@pytest.mark.parametrize("number", [1, 2])
def test_fails(number):
    assert number == 1

def test_is_skipped():
    pytest.skip("no card")
"""
BROKEN = "import nothing_of_this_name"
TWO_PROCESSES = ("-p", "xdist", "-n", "2")


def run(folder: Path, *options: str, text: str = TESTS.format(seconds=0), **variables: str) -> str:
    """Run a file of tests, whose record is written into `folder`; return what is printed."""
    tests = folder / "tests" / "webapp" / "usage" / "month"
    tests.mkdir(parents=True)
    (tests / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "tests.last_run", "-c", "/dev/null", "--rootdir", folder, *options]
    inherited = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "SIGHTGLASS_TEST_RUNS": str(folder), **variables}
    done = subprocess.run(
        [*command, folder], cwd=ROOT, env=inherited | own, capture_output=True, text=True, check=False
    )
    return done.stdout


def record_of(folder: Path, name: str = "last") -> Run:
    record = last_run.read(name, folder)
    assert record
    return record


@pytest.mark.parametrize("options", [(), TWO_PROCESSES], ids=["one process", "two processes"])
def test_a_record_counts_and_names(tmp_path: Path, options: tuple[str, ...]) -> None:
    run(tmp_path, "--lane", "all", *options)
    record = record_of(tmp_path)
    assert (record.lane, record.passed, record.failed, record.skipped) == ("all", 2, 1, 1)
    assert record.names_of_failed == ["tests/webapp/usage/month/test_it.py::test_fails[2]"]
    assert record == record_of(tmp_path, "all")


def test_a_record_names_its_commit(tmp_path: Path) -> None:
    run(tmp_path)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert record_of(tmp_path).commit == head.strip()


@pytest.mark.parametrize("options", [(), TWO_PROCESSES], ids=["one process", "two processes"])
def test_a_slow_set_up_is_listed_and_printed(tmp_path: Path, options: tuple[str, ...]) -> None:
    printed = run(tmp_path, *options, text=TESTS.format(seconds=last_run.SLOW_S))
    name = "tests/webapp/usage/month/test_it.py::test_passes"
    assert [(part.test, part.part) for part in record_of(tmp_path).slow] == [(name, "setup")]
    assert "where the seconds went" in printed
    assert f"setup     {name}" in printed


def test_a_quick_run_prints_no_seconds(tmp_path: Path) -> None:
    assert "where the seconds went" not in run(tmp_path)


def test_a_run_of_a_file_is_recorded_under_its_arguments(tmp_path: Path) -> None:
    run(tmp_path, "-k", "passes")
    assert "-k passes" in record_of(tmp_path).lane
    assert last_run.read("all", tmp_path) is None


@pytest.mark.parametrize("options", [("--exitfirst",), ("--exitfirst", *TWO_PROCESSES)], ids=["one", "two processes"])
def test_a_lane_that_stops_at_a_failure_is_told_from_a_whole_one(tmp_path: Path, options: tuple[str, ...]) -> None:
    run(tmp_path, "--lane", "all", *options)
    assert record_of(tmp_path).lane == "all, not to its end"
    assert last_run.read("all", tmp_path) is None


@pytest.mark.parametrize("options", [(), TWO_PROCESSES], ids=["one process", "two processes"])
def test_a_file_that_cannot_be_imported_has_failed(tmp_path: Path, options: tuple[str, ...]) -> None:
    run(tmp_path, "--lane", "all", *options, text=BROKEN)
    assert record_of(tmp_path).failed == 1
    assert record_of(tmp_path).names_of_failed == ["tests/webapp/usage/month/test_it.py"]


def test_a_run_within_a_test_leaves_the_record_alone(tmp_path: Path) -> None:
    run(tmp_path, PYTEST_CURRENT_TEST="tests/any.py::test_any (call)")
    assert last_run.read("last", tmp_path) is None


def test_collecting_leaves_the_record_alone(tmp_path: Path) -> None:
    run(tmp_path, "--collect-only")
    assert last_run.read("last", tmp_path) is None


def test_the_seconds_are_summed_by_folder_the_most_first() -> None:
    parts = [
        SlowPart("tests/browser/test_chat.py::test_a", "call", 1.0),
        SlowPart("tests/webapp/usage/month/test_it.py::test_b", "setup", 2.0),
        SlowPart("tests/webapp/usage/test_it.py::test_c[a/b]", "call", 3.0),
    ]
    assert list(last_run.seconds_by_folder(parts).items()) == [("tests/webapp/usage", 5.0), ("tests/browser", 1.0)]


def test_a_forgotten_record_is_gone_but_not_that_of_its_lane(tmp_path: Path) -> None:
    last_run.write(Run("all"), tmp_path)
    last_run.forget(tmp_path)
    assert (last_run.read("last", tmp_path), record_of(tmp_path, "all")) == (None, Run("all"))
