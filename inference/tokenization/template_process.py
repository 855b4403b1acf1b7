"""A model file's chat template, in a process of its own that is killed when it takes too much."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path
from threading import Lock
from typing import Any

_PROGRAM = Path(__file__).with_name("template_sandbox.py")
_TIME_LIMIT_S = 1.0
"""Processor time to compile or to render: thousands of times as much as an honest template needs."""
_PATIENCE_S = 30.0
"""Longest wait for a reply: a process that was stopped from outside uses no processor time."""
_MEMORY_LIMIT = 512 << 20
"""Bytes; the process has some 50 MB before it reads a template."""
_LOOK_MS = 20
"""Time between two looks at the process's memory. It can write some 100 MB meanwhile."""
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH")
"""Variables that the interpreter may need; all others, secrets included, are kept from foreign code."""


class TemplateError(Exception):
    """The chat template cannot be used; the message says why."""


class _Killed(TemplateError):
    """The process was killed from outside."""


def address_space_limit(system: str) -> int:
    """Return the limit that a system (`sys.platform`) can keep at every moment; 0: none.

    macOS refuses a limit below what it has reserved for any process, which is hundreds of gigabytes. There only the
    looks at the process's memory bound it.
    """
    return 0 if system == "darwin" else _MEMORY_LIMIT


class TemplateProcess:
    """Renders one template, from any thread, one rendering at a time; restarts its process after that ended."""

    def __init__(self, source: str, patience_s: float = _PATIENCE_S, system: str = sys.platform) -> None:
        """Raises TemplateError. patience_s: longest wait for a reply."""
        self._source = source
        self._patience_s = patience_s
        self._address_space = address_space_limit(system)
        self._lock = Lock()
        self._start()

    def render(self, variables: dict[str, Any]) -> str:
        """Render the template with variables that JSON can hold. Raises TemplateError."""
        with self._lock:
            if self._process.poll() is not None:
                self._ends()
                self._start()
            try:
                return str(self._rendered(variables)["text"])
            except TemplateError as error:
                raise TemplateError(f"the chat template failed: {error}") from None

    def _rendered(self, variables: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._ask({"render": variables})
        except _Killed:  # for want of memory, say: the template is not to blame
            self._start()
            return self._ask({"render": variables})

    def _start(self) -> None:
        try:
            # Isolated (-I): the program is a file that imports nothing of the project.
            command = [sys.executable, "-I", str(_PROGRAM), str(_TIME_LIMIT_S), str(self._address_space)]
            environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        except OSError as error:
            raise TemplateError(f"the chat template's process cannot be started: {error}") from error
        self._ends = weakref.finalize(self, _end, self._process)
        try:
            self._ask({"compile": self._source})
        except TemplateError as error:
            self._ends()
            raise TemplateError(f"the chat template is not valid: {error}") from None

    def _ask(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = b""
        try:
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()
            self._wait()
            line = self._process.stdout.readline()
        except BrokenPipeError:  # ended meanwhile
            pass
        except BaseException:  # its reply would be read as the next job's
            self._ends()
            raise
        if not line.endswith(b"\n"):
            code = self._process.wait()
            self._ends()
            raise (_Killed if code == -signal.SIGKILL else TemplateError)(_ended(code))
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise TemplateError(reply["error"])
        return reply

    def _wait(self) -> None:
        """Wait for the reply, or for the process's end. Raises TemplateError when it holds too much memory."""
        poll, deadline = select.poll(), time.monotonic() + self._patience_s
        poll.register(self._process.stdout.fileno(), select.POLLIN)  # type: ignore[union-attr]
        while not poll.poll(_LOOK_MS):
            if _resident_bytes(self._process.pid) > _MEMORY_LIMIT:
                raise TemplateError("it takes too much memory")
            if time.monotonic() > deadline:
                self._process.kill()
                return


def _resident_bytes(pid: int) -> int:
    import psutil  # only here: it takes 10 ms, and hardly any template takes as long

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:  # ended meanwhile
        return 0


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def _ended(code: int) -> str:
    if code == -signal.SIGPROF:
        return f"it ran for more than {_TIME_LIMIT_S:g} s"
    return f"its process ended with {signal.Signals(-code).name if code < 0 else f'status {code}'}"
