"""The process of a sandbox: the program that `Sandbox` runs. It answers each job with the program of its argument.

That file has a class `Work` whose method `answer(job)` returns the reply. A job and its reply are a line of JSON each,
on a socket that is standard input:

    {...}                   {...}, or {"error": the reason}
    {"fork": bounds}        no reply: a copy of this process serves the socket that comes with the job

The operating system keeps the bounds at any moment: SIGPROF ends a job that takes too much processor time, and an
address space limits the memory. Imports nothing of the project.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import runpy
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MAX_ERROR_CHARS = 500
_CHUNK = 1 << 16
_NICENESS = 19
"""Copies give way to all other work: many of them may be hostile at once."""


class Channel:
    """Lines of JSON on a socket, and the sockets that come with them."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._fds: list[int] = []

    def jobs(self) -> Iterator[dict[str, Any]]:
        """Yield each job until the other end is closed."""
        received = bytearray()
        while True:
            data, fds, _, _ = socket.recv_fds(self._socket, _CHUNK, 16)
            self._fds += fds
            received += data
            *lines, received = received.split(b"\n") if b"\n" in data else [received]
            yield from map(json.loads, lines)
            if not data:
                return

    def take_fd(self) -> int:
        """Return the oldest socket that came."""
        return self._fds.pop(0)

    def reply(self, reply: dict[str, Any]) -> None:
        self._socket.sendall(json.dumps(reply).encode() + b"\n")

    def close(self) -> None:
        """Close it, with the sockets that came for other copies."""
        self._socket.close()
        for fd in self._fds:
            os.close(fd)


def main(path: str, bounds: dict[str, Any]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to the parent's whole group; its end ends the socket
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # both are inherited
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # copies that ended leave nothing behind
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    channel = Channel(0)
    work = runpy.run_path(path)["Work"]()
    while True:  # a copy takes another turn, with its own socket and bounds
        _limit_memory(bounds["memory_bytes"])
        forked = _serve(channel, work, bounds["time_limit_s"])
        if forked is None:
            return
        fd, bounds = forked
        channel.close()
        channel = Channel(fd)
        os.nice(_NICENESS)


def _serve(channel: Channel, work: Any, time_limit_s: float) -> tuple[int, dict[str, Any]] | None:
    """Answer jobs until the other end is closed. In a copy, return its socket and its bounds."""
    for job in channel.jobs():
        if "fork" in job:
            fd = channel.take_fd()
            if os.fork() == 0:
                return fd, job["fork"]
            os.close(fd)
            continue
        signal.setitimer(signal.ITIMER_PROF, time_limit_s)
        try:
            reply = work.answer(job)
        except Exception as error:  # the work is foreign: it may raise anything
            reply = {"error": "it takes too much memory" if isinstance(error, MemoryError) else _said(error)}
        signal.setitimer(signal.ITIMER_PROF, 0)
        channel.reply(reply)
    return None


def _said(error: Exception) -> str:
    return f"{error}"[:_MAX_ERROR_CHARS]


def _limit_memory(num_bytes: int) -> None:
    """Let the address space grow by so many bytes; 0: without a limit."""
    if num_bytes:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + num_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    with contextlib.suppress(ConnectionError):  # the parent is gone
        main(sys.argv[1], json.loads(sys.argv[2]))
