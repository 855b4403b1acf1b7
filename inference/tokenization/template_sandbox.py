"""The work of the process in which a model file's chat template is compiled and rendered: see `TemplateProcess`.

The template is foreign code. One of its operations in C may take years (to compare two nested lists) or all memory (to
join a text to itself). So the sandbox limits the process at any moment; Jinja's sandbox keeps the code from private
attributes. The jobs and their replies:

    {"compile": source}     {}
    {"render": variables}   {"text": the rendered text}, or {"refused": why the template takes no such messages}

Imports nothing of the project.
"""

from __future__ import annotations

from typing import Any, NoReturn

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

_MAX_RENDERED_CHARS = 2_000_000
"""Messages are placeholders: a template's own words for thousands of them take a fraction of this."""

_MAX_REASON_CHARS = 500


class _Refused(jinja2.TemplateError):
    """The template itself refuses the messages."""


class Work:
    """Holds one template."""

    def __init__(self) -> None:
        extensions = [loopcontrols]
        self._environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
        self._environment.globals["raise_exception"] = _raise
        self._template = self._environment.from_string("")

    def answer(self, job: dict[str, Any]) -> dict[str, str]:
        """Compile or render. Raises whatever the template raises."""
        if "compile" in job:
            self._template = self._environment.from_string(job["compile"])
            return {}
        try:
            text = self._template.render(job["render"])
        except _Refused as refused:
            return {"refused": f"{refused}"[:_MAX_REASON_CHARS]}
        if len(text) > _MAX_RENDERED_CHARS:
            raise ValueError(f"it makes {len(text):,} characters of its own")
        return {"text": text}


def _raise(message: str) -> NoReturn:
    raise _Refused(message)
