"""A model file's chat template, in a process of its own that is killed when it takes too much."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Lock
from typing import Any

from inference.sandbox.sandbox import Bounds, Killed, Sandbox, SandboxError

_WORK = Path(__file__).with_name("template_sandbox.py")
_BOUNDS = Bounds(time_limit_s=1.0, memory_bytes=512 << 20)
"""To compile or to render: thousands of times as much time as an honest template needs. The process has some 50 MB
before it reads a template."""
_PATIENCE_S = 30.0
"""Longest wait for a reply: a process that was stopped from outside uses no processor time."""


class TemplateError(Exception):
    """The chat template cannot be used; the message says why."""


class MessagesRefused(TemplateError):
    """The template takes no messages with such roles in this order. Other messages it takes."""


class TemplateProcess:
    """Renders one template, from any thread, one rendering at a time; restarts its process after that ended."""

    def __init__(self, source: str, patience_s: float = _PATIENCE_S, system: str = sys.platform) -> None:
        """Raises TemplateError. patience_s: longest wait for a reply."""
        self._source = source
        self._patience_s = patience_s
        self._system = system
        self._lock = Lock()
        self._sandbox = self._started()

    def render(self, variables: dict[str, Any]) -> str:
        """Render the template with variables that JSON can hold. Raises MessagesRefused, TemplateError."""
        with self._lock:
            if self._sandbox.is_over:
                self._sandbox = self._started()
            try:
                reply = self._rendered(variables)
            except SandboxError as error:
                raise TemplateError(f"the chat template failed: {error}") from None
        if "refused" in reply:
            raise MessagesRefused(f"the chat template refuses them: {reply['refused']}")
        return str(reply["text"])

    def _rendered(self, variables: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._sandbox.ask({"render": variables})
        except Killed:  # for want of memory, say: the template is not to blame
            self._sandbox = self._started()
            return self._sandbox.ask({"render": variables})

    def _started(self) -> Sandbox:
        try:
            sandbox = Sandbox(_WORK, _BOUNDS, self._patience_s, self._system)
            sandbox.ask({"compile": self._source})
        except SandboxError as error:
            raise TemplateError(f"the chat template is not valid: {error}") from None
        return sandbox
