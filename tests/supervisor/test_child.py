"""A child and its own children end with it, and it ends with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from webapp.supervisor.child import Child

ROOT = Path(__file__).parents[2]
_FAMILY = "sleep 1000 & echo $!; wait"
_PARENT = """
import os, sys, time
from pathlib import Path
from webapp.supervisor.child import Child
Child("shell", ["sh", "-c", "echo $$; exec sleep 1000"], Path(sys.argv[1]), dict(os.environ))
time.sleep(1000)
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def pid_in(log: Path) -> int:
    deadline = time.monotonic() + 120
    while not (log.is_file() and log.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return int(log.read_text())


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 120
    while is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_the_start_before_wrote_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    for word in ("first", "second"):
        assert Child("shell", ["echo", word], log, dict(os.environ)).wait(120)
    assert (log.read_text(), (tmp_path / "web.log.1").read_text()) == ("second\n", "first\n")


def test_a_signal_reaches_the_grandchildren(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = Child("shell", ["sh", "-c", _FAMILY], log, dict(os.environ))
    grandchild = pid_in(log)
    assert child.exit_status is None
    child.send(signal.SIGTERM)
    assert child.wait(120)
    wait_until_gone(grandchild)
    child.send(signal.SIGTERM)  # to nobody


def test_a_child_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(log)], cwd=ROOT)
    pid = pid_in(log)
    parent.kill()
    parent.wait()
    wait_until_gone(pid)


def test_the_last_line_of_the_log_says_why(tmp_path: Path) -> None:
    child = Child("shell", ["sh", "-c", "echo one; echo two >&2; exit 3"], tmp_path / "log", dict(os.environ))
    assert child.wait(120)
    assert (child.exit_status, child.last_line()) == (3, "two")
