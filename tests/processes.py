"""The state of processes, on any system."""

from __future__ import annotations

import time

import psutil


def is_alive(pid: int) -> bool:
    """False once it has ended, also before its parent has reaped it."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 120
    while is_alive(pid):
        assert time.monotonic() < deadline, pid
        time.sleep(0.01)
