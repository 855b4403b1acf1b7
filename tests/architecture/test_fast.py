"""The fast lane takes a test by what it touches: neither database, Redis, model nor process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fast import may_be_fast

ROOT = Path(__file__).parents[2]
PURE = "def test_it():\n    pass\n"


@pytest.mark.parametrize(
    ("text", "is_fast"),
    [
        (PURE, True),
        (f"from pathlib import Path\n{PURE}", True),
        (f"import subprocess\n{PURE}", False),
        (f"from subprocess import run\n{PURE}", False),
        ("def test_it():\n    import multiprocessing\n", False),
        (f"from tests.processes import Processes\n{PURE}", False),
        (f"from tests.inference.kernels import compilers\n{PURE}", False),
        (f"from hypothesis.extra.django import TestCase\n{PURE}", False),
        (f"from django.test import TestCase\n{PURE}", False),
        (f"from django.test import RequestFactory\n{PURE}", True),
        (f"import pytest\npytestmark = pytest.mark.slow\n{PURE}", False),
        (f"import pytest\npytestmark = [pytest.mark.django_db(transaction=True)]\n{PURE}", False),
        (f"import pytest\npytestmark = pytest.mark.asyncio\n{PURE}", True),
    ],
)
def test_a_files_text_tells_whether_it_may_be_fast(tmp_path: Path, text: str, is_fast: bool) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(text)
    assert may_be_fast(file) == is_fast


TESTS = """
import pytest

@pytest.fixture
def db():
    pass

@pytest.fixture
def redis_url():
    pass

@pytest.fixture
def log(redis_url):
    pass

def test_of_a_database(db):
    pass

def test_of_a_log(log):
    pass

@pytest.mark.slow
def test_of_long_computing():
    pass

@pytest.mark.parametrize("kind", ["memory", "redis"])
def test_of_two_kinds(kind):
    pass

def test_of_a_folder(tmp_path):
    pass
"""


@pytest.mark.slow
def test_a_test_is_left_out_by_its_fixtures_and_marks(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "test_processes.py").write_text(f"import subprocess\nraise AssertionError\n{PURE}")
    plugins = ["-p", "tests.lanes", "-p", "tests.fast", "-p", "tests.last_run"]
    options = ["-c", "/dev/null", "--rootdir", tmp_path, "--collect-only", "-q", "--lane", "fast"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options, tmp_path],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    kept = [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]
    assert kept == ["test_of_two_kinds[memory]", "test_of_a_folder"], done.stdout
