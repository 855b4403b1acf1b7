"""Pages and workers do not run out of open files under the small limits that systems begin with."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from webapp.operations.supervisor.open_files import allowed_files

ROOT = Path(__file__).parents[2]
_CODE = """
import resource, subprocess
from webapp.operations.supervisor.open_files import allow_open_files
allow_open_files()
print(subprocess.run(["sh", "-c", "ulimit -n"], stdout=subprocess.PIPE, text=True, check=True).stdout)
"""


@pytest.mark.parametrize(
    ("soft", "hard", "allowed"),
    [
        pytest.param(256, resource.RLIM_INFINITY, 8192, id="macOS"),
        pytest.param(1024, 1048576, 8192, id="Linux"),
        pytest.param(1024, 4096, 4096, id="an older Linux"),
        pytest.param(20000, 20000, 20000, id="enough already"),
        pytest.param(resource.RLIM_INFINITY, resource.RLIM_INFINITY, resource.RLIM_INFINITY, id="without a limit"),
    ],
)
def test_the_limit_is_raised_as_far_as_it_may_be(soft: int, hard: int, allowed: int) -> None:
    assert allowed_files(soft, hard) == allowed


def test_processes_that_are_started_later_have_it_too() -> None:
    script = 'ulimit -S -n 256; exec "$0" -c "$1"'
    run = subprocess.run(
        ["sh", "-c", script, sys.executable, _CODE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert int(run.stdout) == allowed_files(256, hard)
