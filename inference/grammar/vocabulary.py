"""The kept process that has read a vocabulary; a copy of it serves one constraint. Knows nothing of constraints."""

from __future__ import annotations

import contextlib
import json
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


class Exceeded(Exception):
    """A process took more than it may, and was ended."""


class Copy:
    """A process with a vocabulary, for one constraint. It ends with this object."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._replies = channel.makefile("rb")

    def send(self, job: dict[str, Any]) -> None:
        """Send a job. That the process has ended is told by `receive`."""
        with contextlib.suppress(OSError):
            self._channel.sendall(json.dumps(job).encode() + b"\n")

    def receive(self) -> dict[str, Any]:
        """Wait for the reply to the oldest job. Raises Exceeded, SandboxError."""
        try:
            line = self._replies.readline()
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            raise Exceeded(f"it takes more than {COPY.time_limit_s} s or {COPY.memory_bytes >> 20} MB for one token")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise SandboxError(reply["error"])
        return reply

    def close(self) -> None:
        """End the process. A `receive` of another thread returns."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._channel.close()


class Vocabulary:
    """Starts its process for the first constraint, and again after it ended. Any thread may use it."""

    def __init__(self, described: Callable[[], dict[str, Any] | None]) -> None:
        """described: returns the vocabulary for the process; see grammar_sandbox."""
        self._described = described
        self._sandbox: Sandbox | None = None
        self._lock = threading.Lock()

    def copy(self) -> Copy:
        """Return a process with this vocabulary. Raises SandboxError."""
        with self._lock:
            if self._sandbox is None or self._sandbox.is_over:
                self._sandbox = self._started()
            try:
                return Copy(self._sandbox.fork(COPY))
            except ConnectionError:  # ended meanwhile
                self._sandbox = self._started()
                return Copy(self._sandbox.fork(COPY))

    def _started(self) -> Sandbox:
        sandbox = Sandbox(_WORK, _READING)
        sandbox.ask({"vocabulary": self._described()})
        return sandbox
