"""A process of its own for work that may take too much, as its parent sees it. Knows nothing of the work."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROGRAM = Path(__file__).with_name("program.py")
_PATIENCE_S = 30.0
"""Longest wait for a reply: a process that was stopped from outside uses no processor time."""
_LOOK_MS = 20
"""Time between two looks at the process's memory. It can write some 100 MB meanwhile."""
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH")
"""Variables that the interpreter may need; all others, secrets included, are kept from foreign code."""


class SandboxError(Exception):
    """The work failed; the message says why."""


class Killed(SandboxError):
    """The process was killed from outside."""


@dataclass(frozen=True)
class Bounds:
    """What one job may take."""

    time_limit_s: float
    """Processor time."""
    memory_bytes: int
    """Growth of the process from its start; 0: without a limit."""

    def kept_by(self, system: str) -> dict[str, float]:
        """Return the bounds that a system (`sys.platform`) can keep at every moment.

        macOS refuses a limit below what it has reserved for any process, which is hundreds of gigabytes. There only
        the looks at the process's memory bound it, and the time in which a copy can fill any.
        """
        memory_bytes = 0 if system == "darwin" else self.memory_bytes
        return {"time_limit_s": self.time_limit_s, "memory_bytes": memory_bytes}


class Sandbox:
    """One process, asked by one thread at a time. It ends with this object."""

    def __init__(self, work: Path, bounds: Bounds, patience_s: float = _PATIENCE_S, system: str = sys.platform) -> None:
        """Raises SandboxError. work: the file with the class `Work`. patience_s: longest wait for a reply."""
        self._bounds = bounds
        self._patience_s = patience_s
        self._system = system
        self._channel, theirs = socket.socketpair()
        # Isolated (-I): the programs are files that import nothing of the project.
        command = [sys.executable, "-I", str(_PROGRAM), str(work), json.dumps(bounds.kept_by(system))]
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        with theirs:
            try:
                self._process = subprocess.Popen(
                    command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, env=environment
                )
            except OSError as error:
                self._channel.close()
                raise SandboxError(f"the process cannot be started: {error}") from error
        self._replies = self._channel.makefile("rb")
        self.end = weakref.finalize(self, _end, self._process, self._channel)

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return the reply. Raises SandboxError."""
        line = b""
        try:
            self._channel.sendall(json.dumps(job).encode() + b"\n")
            self._wait()
            line = self._replies.readline()
        except ConnectionError:  # ended meanwhile
            pass
        except BaseException:  # its reply would be read as the next job's
            self.end()
            raise
        if not line.endswith(b"\n"):
            code = self._process.wait()
            self.end()
            raise (Killed if code == -signal.SIGKILL else SandboxError)(self._ended(code))
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise SandboxError(reply["error"])
        return reply

    def fork(self, bounds: Bounds) -> socket.socket:
        """Return a socket to a copy of the process, which ends with that socket. Raises ConnectionError."""
        ours, theirs = socket.socketpair()
        with theirs:
            job = json.dumps({"fork": bounds.kept_by(self._system)}).encode() + b"\n"
            try:
                socket.send_fds(self._channel, [job], [theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        return ours

    def _wait(self) -> None:
        """Wait for the reply, or for the process's end. Raises SandboxError when it holds too much memory."""
        poll, deadline = select.poll(), time.monotonic() + self._patience_s
        poll.register(self._channel.fileno(), select.POLLIN)
        while not poll.poll(_LOOK_MS):
            if 0 < self._bounds.memory_bytes < _resident_bytes(self._process.pid):
                raise SandboxError("it takes too much memory")
            if time.monotonic() > deadline:
                self._process.kill()
                return

    def _ended(self, code: int) -> str:
        if code == -signal.SIGPROF:
            return f"it ran for more than {self._bounds.time_limit_s:g} s"
        return f"its process ended with {signal.Signals(-code).name if code < 0 else f'status {code}'}"


def _resident_bytes(pid: int) -> int:
    import psutil  # only here: it takes 10 ms, and hardly any job takes as long

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:  # ended meanwhile
        return 0


def _end(process: subprocess.Popen[bytes], channel: socket.socket) -> None:
    process.kill()
    process.wait()
    channel.close()
