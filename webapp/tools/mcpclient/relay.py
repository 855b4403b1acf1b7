"""Stands between an MCP server's program and the client: hands on so much, for so long, and then ends both.

It is started as a program of its own, `relay.py BYTES SECONDS PROGRAM ARGUMENTS…`, and needs the standard library
alone. The client reads a line of any length into memory, so the bound stands before it. The clock here also ends a
server whose client was killed. The client starts it as the leader of a process group.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any, NoReturn

MOST_LINES = 10_000
"""Messages of a session. The client takes much longer over a short line than over its bytes."""
_CHUNK = 1 << 16


def relay(most_bytes: int, most_s: int, command: list[str]) -> NoReturn:
    """Run the command, hand on its output, and end it with all processes that it started, and this one."""
    signal.signal(signal.SIGALRM, _end_group)
    signal.alarm(most_s)
    try:
        _hand_on(most_bytes, command)
    finally:
        _end_group()


def _hand_on(most_bytes: int, command: list[str]) -> None:
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    left, lines = most_bytes, MOST_LINES
    while chunk := os.read(process.stdout.fileno(), _CHUNK):
        left, lines = left - len(chunk), lines - chunk.count(b"\n")
        if left < 0 or lines < 0:
            return
        _write(chunk)
    process.wait()


def _write(chunk: bytes) -> None:
    while chunk:
        chunk = chunk[os.write(1, chunk) :]


def _end_group(*_: Any) -> NoReturn:
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    relay(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
