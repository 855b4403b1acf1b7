"""Runs a Python program that the model wrote, isolated by the kernel; where that is impossible, it runs none."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from functools import cache
from typing import Any

from inference.protocol.tool_calls import Tool
from webapp.tools.sandbox.isolation import Isolation, Limits, Run, Unavailable
from webapp.tools.tool import Asker, BuiltIn, ToolError

_LIMITS = Limits()
_MOST_CODE_CHARS = 8000
_STDOUT_CHARS, _STDERR_CHARS = 2800, 900
"""Lengths that the model reads of each, so that the notes after them fit into a result."""


def run_python(arguments: Mapping[str, Any], _: Asker) -> str:
    """Return the program's output. Raises ToolError where it failed, or where this host cannot isolate it."""
    code = str(arguments["code"])
    if len(code) > _MOST_CODE_CHARS:
        raise ToolError(f"The program has more than {_MOST_CODE_CHARS:,} characters.")
    if reason := unavailable():
        raise ToolError(f"Not run: {reason}.")
    try:
        run = isolation().run(code)
    except Unavailable as error:
        raise ToolError(f"Not run: {error}.") from None
    return told(run)


def unavailable() -> str:
    """Say why this host cannot isolate a program; empty: it can. The first call tries it."""
    try:
        isolation()
    except Unavailable as error:
        return str(error)
    return ""


def isolation() -> Isolation:
    """The isolation of this process, made once. Raises Unavailable, each time for the same reason."""
    found = _tried()
    if isinstance(found, Unavailable):
        raise found
    return found


@cache
def _tried() -> Isolation | Unavailable:
    try:
        return Isolation(_LIMITS)
    except Unavailable as error:
        return error


def told(run: Run) -> str:
    """The run as the model reads it. Raises ToolError where the program failed."""
    stdout, stderr = run.output.stdout.decode(errors="replace"), run.output.stderr.decode(errors="replace")
    parts = [_beginning(stdout), f"(standard error)\n{_end(stderr)}" if stderr else "", _ending(run)]
    text = "\n".join(part.rstrip("\n") for part in parts if part) or "(no output)"
    if run.status:
        raise ToolError(text)
    return text


def _beginning(text: str) -> str:
    if len(text) <= _STDOUT_CHARS:
        return text
    return f"{text[:_STDOUT_CHARS]}\n(cut off here: the output has {len(text):,} characters)"


def _end(text: str) -> str:
    return text if len(text) <= _STDERR_CHARS else f"(cut off before this)\n{text[-_STDERR_CHARS:]}"


def _ending(run: Run) -> str:
    """Tell how a program ended that did not come to its own end with success."""
    if run.output.is_cut:
        return f"(ended: more than {_LIMITS.output_bytes >> 10} KiB of output)"
    if run.is_over_time:
        return f"(ended: longer than {_LIMITS.wall_s:g} s)"
    if run.status == 128 + signal.SIGXCPU:
        return f"(ended: more than {_LIMITS.cpu_s} s of processor time)"
    if run.status > 128:
        return f"(ended by signal {run.status - 128})"
    return f"(exit status {run.status})" if run.status else ""


PYTHON = BuiltIn(
    Tool(
        name="python",
        description=(
            "Runs a Python 3 program and gives what it prints. It has the standard library, an empty /tmp, 2 seconds "
            "and 512 MiB. It has no network, no files and no input. Nothing is kept from one call to the next."
        ),
        parameters=json.dumps(
            {
                "type": "object",
                "properties": {"code": {"type": "string", "maxLength": _MOST_CODE_CHARS}},
                "required": ["code"],
                "additionalProperties": False,
            }
        ),
        is_strict=True,
    ),
    "Python",
    run_python,
    lacks=unavailable,
    sandbox="namespaces and a filter of system calls",
)
