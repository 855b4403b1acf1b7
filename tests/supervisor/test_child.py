"""A child and its own children end with it, and it ends with us."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.processes import is_alive, wait_until_gone
from webapp.operations.supervisor.child import Child

ROOT = Path(__file__).parents[2]
_FAMILY = "sleep 1000 & echo $!; wait"
_STUBBORN = "trap '' TERM INT HUP; sleep 1000 & echo $!; while :; do wait; done"
_PARENT = """
import os, signal, sys, time
from pathlib import Path
from webapp.operations.supervisor.child import Child
child = Child("shell", ["sh", "-c", sys.argv[2]], Path(sys.argv[1]), dict(os.environ))
print(child.pid, flush=True)
input()
child.send(signal.SIGTERM)
print("sent", flush=True)
time.sleep(1000)
"""
_BUSY_PARENT = """
import os, sys
from pathlib import Path
from webapp.operations.supervisor.child import Child
children = []
while len(children) < 50:
    log = Path(sys.argv[1]) / f"{len(children)}.log"
    children.append(Child("sleep", [sys.executable, "-c", "import time; time.sleep(1000)", sys.argv[1]], log, {}))
    print("started", flush=True)
"""


def pid_in(log: Path) -> int:
    deadline = time.monotonic() + 120
    while not (log.is_file() and log.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return int(log.read_text())


def named(word: str) -> list[int]:
    """The processes that have the word as an argument."""
    return [found.pid for found in psutil.process_iter(["cmdline"]) if word in (found.info["cmdline"] or [])]


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
    child.send(signal.SIGTERM)  # to an empty group


@pytest.mark.parametrize("program", [_FAMILY, _STUBBORN])
@pytest.mark.parametrize("is_told_before", [False, True])
def test_a_child_and_its_own_die_with_a_parent_that_is_killed(
    tmp_path: Path, program: str, is_told_before: bool
) -> None:
    """A program may ignore every signal that it can, and its parent may be killed while it waits for it to stop."""
    log = tmp_path / "log"
    command = [sys.executable, "-c", _PARENT, str(log), program]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        pid, grandchild = int(parent.stdout.readline()), pid_in(log)
        started = {found.pid for found in psutil.Process(parent.pid).children(recursive=True)}
        assert started >= {pid, grandchild}
        if is_told_before:
            parent.stdin.write(b"\n")
            parent.stdin.flush()
            assert parent.stdout.readline() == b"sent\n"
        parent.kill()
    for each in started:
        wait_until_gone(each)


def test_a_stopped_child_dies_with_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PARENT, str(tmp_path / "log"), _FAMILY]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(pid, signal.SIGSTOP)
        parent.kill()
    wait_until_gone(pid)


@pytest.mark.slow
def test_no_moment_of_a_start_leaves_a_child_behind(tmp_path: Path) -> None:
    """The parent is killed between its lines: before a guard, between guard and program, and after the program."""
    rng = random.Random(1)
    for turn in range(20):
        folder = tmp_path / str(turn)
        folder.mkdir()
        command = [sys.executable, "-c", _BUSY_PARENT, str(folder)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None
            parent.stdout.readline()
            guards = psutil.Process(parent.pid).children()
            time.sleep(rng.random() * 0.02)  # the moment is the test's subject
            parent.kill()
        deadline = time.monotonic() + 120
        while left := named(str(folder)) + [guard.pid for guard in guards if is_alive(guard.pid)]:
            assert time.monotonic() < deadline, left
            time.sleep(0.01)


def test_what_a_program_leaves_ends_once_its_end_is_seen(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = Child("shell", ["sh", "-c", "sleep 1000 & echo $!"], log, dict(os.environ))
    left = pid_in(log)
    assert child.wait(120)
    wait_until_gone(left)


def test_a_program_that_is_missing_leaves_nothing_behind(tmp_path: Path) -> None:
    before = set(psutil.Process().children())
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        Child("none", ["no-such-program"], tmp_path / "log", dict(os.environ))
    assert set(psutil.Process().children()) == before


def test_a_program_gets_its_environment_and_no_file_but_its_log(tmp_path: Path) -> None:
    code = "import os; print(sorted(os.environ), os.read(0, 1), os.path.exists('/dev/fd/3'))"
    child = Child("python", [sys.executable, "-c", code], tmp_path / "log", {"A.B": "1", "LC_ALL": "C"})
    assert child.wait(120)
    assert child.last_line() == "['A.B', 'LC_ALL'] b'' False"


def test_an_ending_goes_on_in_a_sentence(tmp_path: Path) -> None:
    child = Child("shell", ["sh", "-c", "echo It is over.; exit 1"], tmp_path / "log", dict(os.environ))
    assert child.wait(120)
    assert child.ending() == "ended (1): It is over"


def test_a_process_is_called_by_the_name_that_ps_shows_too(tmp_path: Path) -> None:
    commands = {"redis (sh)": ["/bin/sh", "-c", ":"], "redis": [sys.executable, "-c", ""]}
    for title, command in commands.items():
        child = Child("redis", command, tmp_path / "log", dict(os.environ))
        assert child.wait(120)
        assert child.title == title


def test_the_last_line_of_the_log_says_why(tmp_path: Path) -> None:
    child = Child("shell", ["sh", "-c", "echo one; echo two >&2; exit 3"], tmp_path / "log", dict(os.environ))
    assert child.wait(120)
    assert (child.exit_status, child.last_line()) == (3, "two")
