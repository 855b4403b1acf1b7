"""The process of a sandbox: the program that `Sandbox` runs. It answers each job with the program of its argument.

That file has a class `Work` whose method `answer(job)` returns the reply. A job and its reply are a line of JSON each,
on a socket that is standard input:

    {...}                   {...}, or {"error": the reason, "is_memory": it met the bound of memory}
    {"fork": bounds}        no reply: a copy of this process serves the socket that comes with the job

When a copy ends, its socket gets {"ended": the signal's number, or minus the exit status}.

The operating system keeps the bounds at any moment: SIGPROF ends a job that takes too much processor time, SIGALRM one
that waits for ever, and an address space limits the memory. Imports nothing of the project.
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
_LONGEST_S = 300
"""Longest job by the clock. No reader waits longer."""
_NICENESS = 19
"""Copies run after all other work: many of them may be hostile at once."""


class Channel:
    """Lines of JSON on a socket, and the sockets that come with them."""

    def __init__(self, ours: socket.socket) -> None:
        self._socket = ours
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


class Copies:
    """The copies of this process that run, each with the socket that it serves."""

    def __init__(self) -> None:
        self._sockets: dict[int, socket.socket] = {}
        signal.signal(signal.SIGCHLD, lambda *_: self._told())

    def start(self, theirs: socket.socket) -> bool:
        """Start one. Return True in the copy."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # it may end before it is known
        try:
            pid = os.fork()
        except OSError as error:
            _send(theirs, {"error": f"no process can be started: {error}", "is_memory": False})
            theirs.close()
        else:
            if pid == 0:
                self._forget()
                return True
            self._sockets[pid] = theirs
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        return False

    def _told(self) -> None:
        """Tell on its socket how each copy ended that has ended."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                with self._sockets.pop(ended[0]) as theirs:
                    _send(theirs, {"ended": -os.waitstatus_to_exitcode(ended[1])})

    def _forget(self) -> None:
        """In a copy: keep nothing of the others."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        for theirs in self._sockets.values():
            theirs.close()
        self._sockets.clear()


def _send(theirs: socket.socket, reply: dict[str, Any]) -> None:
    """Send it if the other end still listens, without a wait."""
    with contextlib.suppress(OSError):
        theirs.send(json.dumps(reply).encode() + b"\n", socket.MSG_DONTWAIT)


def main(path: str, bounds: dict[str, Any]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to the parent's whole group; its end ends the socket
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)  # this and the mask are inherited
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    channel = Channel(socket.socket(fileno=0))
    work = runpy.run_path(path)["Work"]()
    while True:  # a copy takes another turn, with its own socket and bounds
        _limit_memory(bounds["memory_bytes"])
        forked = _serve(channel, work, bounds["time_limit_s"])
        if forked is None:
            return
        theirs, bounds = forked
        channel.close()
        channel = Channel(theirs)
        os.nice(_NICENESS)


def _serve(channel: Channel, work: Any, time_limit_s: float) -> tuple[socket.socket, dict[str, Any]] | None:
    """Answer jobs until the other end is closed. In a copy, return its socket and its bounds."""
    copies = Copies()
    for job in channel.jobs():
        if "fork" in job:
            theirs = socket.socket(fileno=channel.take_fd())
            if copies.start(theirs):
                return theirs, job["fork"]
            continue
        signal.setitimer(signal.ITIMER_PROF, time_limit_s)
        signal.setitimer(signal.ITIMER_REAL, _LONGEST_S)
        try:
            reply = work.answer(job)
        except Exception as error:  # the work is foreign: it may raise anything
            is_memory = isinstance(error, MemoryError)
            reply = {"error": "it takes too much memory" if is_memory else _said(error), "is_memory": is_memory}
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
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
