"""A model file's chat template, in a process of its own that is ended where it takes too much."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import weakref
from pathlib import Path
from threading import Lock
from typing import Any

_PROGRAM = Path(__file__).with_name("template_sandbox.py")
_TIME_LIMIT_S = 1.0
"""Of the processor, to compile or to render: thousands of times what an honest template needs."""


class TemplateError(Exception):
    """The chat template cannot be used; the message says why."""


class TemplateProcess:
    """Renders one template, from any thread, one rendering at a time; started anew after it was ended."""

    def __init__(self, source: str) -> None:
        """Raises TemplateError."""
        self._source = source
        self._lock = Lock()
        self._start()

    def render(self, variables: dict[str, Any]) -> str:
        """What the template makes of variables that JSON can hold. Raises TemplateError."""
        with self._lock:
            if self._process.poll() is not None:
                self._ends()
                self._start()
            try:
                return str(self._ask({"render": variables})["text"])
            except TemplateError as error:
                raise TemplateError(f"the chat template failed: {error}") from None

    def _start(self) -> None:
        try:
            # Isolated: the program is a file that needs nothing of the project, so nothing of it is looked for.
            command = [sys.executable, "-I", str(_PROGRAM), str(_TIME_LIMIT_S)]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
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
            line = self._process.stdout.readline()
        except BrokenPipeError:  # ended meanwhile
            pass
        except BaseException:  # its reply would be taken for the next one's
            self._ends()
            raise
        if not line.endswith(b"\n"):
            code = self._process.wait()
            self._ends()
            raise TemplateError(_ended(code))
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise TemplateError(reply["error"])
        return reply


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def _ended(code: int) -> str:
    if code == -signal.SIGPROF:
        return f"it ran for more than {_TIME_LIMIT_S:g} s"
    return f"its process ended with {signal.Signals(-code).name if code < 0 else f'status {code}'}"
