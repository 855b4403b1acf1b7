"""A browser test that fails once is run once more and named; a test that fails twice, or elsewhere, fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
TEST = """
from pathlib import Path
import pytest

@pytest.fixture
def attempts():
    counted = Path(__file__).with_name("attempts")
    before = int(counted.read_text()) if counted.exists() else 0
    counted.write_text(str(before + 1))
    return before + 1

def test_it(attempts):
    assert attempts > {num_failures}
"""


def run(folder: Path, num_failures: int, *options: str) -> subprocess.CompletedProcess[str]:
    return run_file(folder, TEST.format(num_failures=num_failures), *options)


def run_file(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    (folder / "test_it.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.rerun",
        "-c",
        "/dev/null",
        "--rootdir",
        folder,
        folder,
        *options,
    ]
    return subprocess.run(command, cwd=ROOT, env=os.environ | BARE, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("options", [[], ["-p", "xdist", "-n", "2"]], ids=["one process", "two processes"])
def test_a_browser_test_that_fails_once_passes_and_is_named(tmp_path: Path, options: list[str]) -> None:
    done = run(tmp_path / "browser", 1, *options)
    assert done.returncode == 0
    assert "passed only when run once more" in done.stdout and "test_it.py::test_it:\n" in done.stdout
    assert (tmp_path / "browser" / "attempts").read_text() == "2"


def test_a_browser_test_that_fails_twice_fails(tmp_path: Path) -> None:
    done = run(tmp_path / "browser", num_failures=2)
    assert done.returncode == 1
    assert "passed only when run once more" not in done.stdout


def test_other_tests_are_run_once(tmp_path: Path) -> None:
    assert run(tmp_path / "unit", num_failures=1).returncode == 1
    assert (tmp_path / "unit" / "attempts").read_text() == "1"


def test_a_test_that_passes_is_run_once(tmp_path: Path) -> None:
    done = run(tmp_path / "faults", num_failures=0)
    assert done.returncode == 0 and "once more" not in done.stdout


MODULE = """
import pytest

steps = []

@pytest.fixture(scope="module")
def page():
    steps.append("page")
    yield

def test_one(page):
    steps.append("one")

def test_two(page):
    steps.append("two")
    assert len(steps) > 3

def test_three(page):
    assert steps == ["page", "one", "two", "page", "one", "two"]
"""


def test_a_second_try_begins_a_browser_module_again(tmp_path: Path) -> None:
    done = run_file(tmp_path / "browser", MODULE)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout


TWICE = """
from pathlib import Path
import pytest

def tried(name):
    with (Path(__file__).with_name(name)).open("a") as file:
        file.write("x")
    assert False

def test_one():
    tried("one")

def test_two():
    tried("two")
"""


def test_after_a_test_that_failed_twice_the_rest_of_its_browser_module_is_tried_once(tmp_path: Path) -> None:
    folder = tmp_path / "browser"
    assert run_file(folder, TWICE).returncode == 1
    assert ((folder / "one").read_text(), (folder / "two").read_text()) == ("xx", "x")
