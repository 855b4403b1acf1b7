"""A kept process that is ready for work, and its copies, each for one piece of that work. Knows nothing of the work."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inference.sandbox.sandbox import Bounds, Sandbox, SandboxError

_EXCESSES = (signal.SIGPROF, signal.SIGABRT, signal.SIGSEGV)
"""Signals that end a process beyond its bounds: of its time, of its heap, of its stack."""
PATIENCE_S = 30.0
"""Longest wait for a reply: a process that was stopped from outside uses no processor time."""


class Exceeded(Exception):
    """A process took more than it may, and was ended."""


class Copy:
    """A copy of the kept process. It ends with this object."""

    def __init__(self, channel: socket.socket, bounds: Bounds, patience_s: float = PATIENCE_S) -> None:
        """patience_s: longest wait for a reply."""
        channel.settimeout(patience_s)
        self._bounds = bounds
        self._patience_s = patience_s
        self._channel = channel
        self._replies = channel.makefile("rb")

    def send(self, job: dict[str, Any]) -> None:
        """Send a job. That the process has ended is told by `receive`."""
        with contextlib.suppress(OSError):
            self._channel.sendall(json.dumps(job).encode() + b"\n")

    def receive(self) -> dict[str, Any]:
        """Wait for the reply to the oldest job. Raises Exceeded; SandboxError, where the job is not to blame."""
        reply = self._reply()
        if reply.get("ended") in _EXCESSES:
            raise Exceeded(
                f"it takes more than {self._bounds.time_limit_s:g} s or {self._bounds.memory_bytes >> 20} MB"
            )
        if "ended" in reply:
            raise SandboxError("its process was ended from outside")
        if "error" in reply:
            raise (Exceeded if reply["is_memory"] else SandboxError)(reply["error"])
        return reply

    def _reply(self) -> dict[str, Any]:
        """Return the next line. A process that gives none in time is ended."""
        try:
            return dict(json.loads(self._replies.readline()))
        except TimeoutError:
            self.close()
            raise SandboxError(f"its process gave no reply in {self._patience_s:g} s") from None
        except (OSError, ValueError):  # closed, or ended in the middle of a line
            raise SandboxError("its process has ended") from None

    def close(self) -> None:
        """End the process. A `receive` of another thread returns."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._channel.close()


class Kept:
    """Starts its process for the first piece of work, and again after it ended. Any thread may use it."""

    def __init__(
        self,
        work: Path,
        starting: Bounds,
        first_job: Callable[[], dict[str, Any]],
        copying: Bounds,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """first_job: makes the process ready. starting, copying: bounds of that job, and of each job of a copy.

        patience_s: longest wait for a reply of a copy.
        """
        self._work = work
        self._starting = starting
        self._first_job = first_job
        self._copying = copying
        self._patience_s = patience_s
        self._sandbox: Sandbox | None = None
        self._lock = threading.Lock()

    def copy(self) -> Copy:
        """Return a copy of the process. Raises SandboxError."""
        with self._lock:
            if self._sandbox is None or self._sandbox.is_over:
                self._sandbox = self._started()
            try:
                channel = self._sandbox.fork(self._copying)
            except ConnectionError:  # ended meanwhile
                self._sandbox = self._started()
                channel = self._sandbox.fork(self._copying)
        return Copy(channel, self._copying, self._patience_s)

    def _started(self) -> Sandbox:
        sandbox = Sandbox(self._work, self._starting)
        sandbox.ask(self._first_job())
        return sandbox
