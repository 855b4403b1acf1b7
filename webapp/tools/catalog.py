"""The tools of the server by name, and the one way to run a call of one."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass

from inference.protocol.tool_calls import Call, Tool
from webapp.tools.calculator import CALCULATOR
from webapp.tools.clock import CURRENT_TIME
from webapp.tools.tool import BuiltIn, ToolError
from webapp.tools.units import CONVERT_UNITS

TOOLS: dict[str, BuiltIn] = {each.definition.name: each for each in (CALCULATOR, CURRENT_TIME, CONVERT_UNITS)}
"""All tools, by name."""
MAX_RESULT_CHARS = 4000
"""Length of a result that the model reads; the rest is cut off, and said to be."""


@dataclass(frozen=True)
class Result:
    """The answer of a tool."""

    text: str
    is_error: bool
    duration_us: int


def definitions_of(names: Iterable[str]) -> tuple[Tool, ...]:
    """The definitions of these tools, in the catalog's order: the prompt's beginning stays the same."""
    chosen = set(names)
    return tuple(tool.definition for name, tool in TOOLS.items() if name in chosen)


def run(call: Call) -> Result:
    """Run one call. A fault of the call or of the tool is a result, which the model reads."""
    start_ns = time.perf_counter_ns()
    try:
        text, is_error = _answer(call), False
    except ToolError as error:
        text, is_error = str(error), True
    return Result(_bounded(text), is_error, (time.perf_counter_ns() - start_ns) // 1000)


def _answer(call: Call) -> str:
    tool = TOOLS.get(call.name)
    if tool is None:
        raise ToolError(f"There is no tool {call.name[:100]!r}.")
    try:
        arguments = json.loads(call.arguments)
        return tool.run(arguments)
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError(f"The arguments do not fit the tool's schema: {error}") from None


def _bounded(text: str) -> str:
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS]}\n(cut off here: the result has {len(text):,} characters)"
