"""A start lasts as long as its processes compute, and ends once they stand still."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from webapp.operations.supervisor.patience import Patience

# The grandchild computes, as a compiler does under a worker; the line says that it has.
_COMPUTES = "sum(range(3_000_000)); print('computed', flush=True); input()"
_STARTS = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"


@pytest.fixture
def computing() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _STARTS, _COMPUTES]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "computed\n"
        yield process
        assert process.stdin is not None
        process.stdin.close()


def short(*pids: int) -> Patience:
    return Patience(lambda: pids, window_s=0, least_cpu_s=0.01)


def test_the_wait_lasts_while_a_grandchild_computes(computing: subprocess.Popen[str]) -> None:
    patience = short(computing.pid)
    assert not patience.is_over()


def test_the_wait_ends_once_the_processes_stand_still(computing: subprocess.Popen[str]) -> None:
    patience = short(computing.pid)
    patience.is_over()
    computing.send_signal(signal.SIGSTOP)
    try:
        # The first readings may hold what it computed before.
        assert any(patience.is_over() for _ in range(1000))
    finally:
        computing.send_signal(signal.SIGCONT)


def test_a_process_that_has_ended_counts_for_nothing() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert short(ended.pid).is_over()


def test_no_wait_ends_within_its_first_window() -> None:
    assert not Patience(list).is_over()
