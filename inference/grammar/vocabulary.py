"""The kept process that has read a vocabulary; a copy of it serves one constraint. Knows nothing of constraints."""

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

_WORK = Path(__file__).with_name("grammar_sandbox.py")
_READING = Bounds(time_limit_s=60, memory_bytes=0)
"""The vocabulary is the model's own. Reading one of 49,000 tokens takes 0.2 s."""
COPY = Bounds(time_limit_s=0.5, memory_bytes=128 << 20)
"""For one constraint: the time to compile it, and then for each mask. Usual masks take some 0.1 ms and 10 MB."""
_EXCESSES = (signal.SIGPROF, signal.SIGABRT, signal.SIGSEGV)
"""Signals that end a process beyond its bounds: of its time, of its heap, of its stack."""
PATIENCE_S = 30.0
"""Longest wait for a reply: a process that was stopped from outside uses no processor time."""


class Exceeded(Exception):
    """A process took more than it may, and was ended."""


class Copy:
    """A process with a vocabulary, for one constraint. It ends with this object."""

    def __init__(self, channel: socket.socket, patience_s: float = PATIENCE_S) -> None:
        """patience_s: longest wait for a reply."""
        channel.settimeout(patience_s)
        self._patience_s = patience_s
        self._channel = channel
        self._replies = channel.makefile("rb")

    def send(self, job: dict[str, Any]) -> None:
        """Send a job. That the process has ended is told by `receive`."""
        with contextlib.suppress(OSError):
            self._channel.sendall(json.dumps(job).encode() + b"\n")

    def receive(self) -> dict[str, Any]:
        """Wait for the reply to the oldest job. Raises Exceeded; SandboxError, where the grammar is not to blame."""
        reply = self._reply()
        if reply.get("ended") in _EXCESSES:
            raise Exceeded(f"it takes more than {COPY.time_limit_s} s or {COPY.memory_bytes >> 20} MB for one token")
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


class Vocabulary:
    """Starts its process for the first constraint, and again after it ended. Any thread may use it."""

    def __init__(self, described: Callable[[], dict[str, Any] | None], patience_s: float = PATIENCE_S) -> None:
        """described: returns the vocabulary for the process; see grammar_sandbox. patience_s: longest wait for a reply
        of a copy."""
        self._described = described
        self._patience_s = patience_s
        self._sandbox: Sandbox | None = None
        self._lock = threading.Lock()

    def copy(self) -> Copy:
        """Return a process with this vocabulary. Raises SandboxError."""
        with self._lock:
            if self._sandbox is None or self._sandbox.is_over:
                self._sandbox = self._started()
            try:
                return Copy(self._sandbox.fork(COPY), self._patience_s)
            except ConnectionError:  # ended meanwhile
                self._sandbox = self._started()
                return Copy(self._sandbox.fork(COPY), self._patience_s)

    def _started(self) -> Sandbox:
        sandbox = Sandbox(_WORK, _READING)
        sandbox.ask({"vocabulary": self._described()})
        return sandbox
