"""The tools of the server by name, and the one way to run a call of one."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from inference.protocol.tool_calls import Call, Tool
from webapp.tools.calculator import CALCULATOR
from webapp.tools.clock import CURRENT_TIME
from webapp.tools.delegate import DELEGATE
from webapp.tools.fetch import FETCH
from webapp.tools.mcp import mcp_tool, mcp_tools
from webapp.tools.mcpclient.approvals import is_of_server
from webapp.tools.python import PYTHON
from webapp.tools.rename import RENAME_CONVERSATION
from webapp.tools.search import SEARCH_CHATS, SEARCH_FILES
from webapp.tools.tool import Asker, BuiltIn, ServerTool, ToolError
from webapp.tools.units import CONVERT_UNITS
from webapp.tools.weather import DEMO_WEATHER

logger = logging.getLogger(__name__)

_ALL = (
    CALCULATOR,
    CURRENT_TIME,
    CONVERT_UNITS,
    PYTHON,
    FETCH,
    SEARCH_FILES,
    SEARCH_CHATS,
    DEMO_WEATHER,
    RENAME_CONVERSATION,
    DELEGATE,
)
TOOLS: dict[str, BuiltIn] = {each.definition.name: each for each in _ALL}
"""The tools that come with the product, by name."""
_FAILED = "The tool failed. Unknown whether the call had an effect. The server's log has the details."
MAX_RESULT_CHARS = 4000
"""Length of a result that the model reads; the rest is cut off, and said to be."""


@dataclass(frozen=True)
class Result:
    """The answer of a tool."""

    text: str
    is_error: bool
    duration_us: int


def offered() -> list[ServerTool]:
    """The tools that a conversation may list, also those that this host cannot run."""
    return [*(tool for tool in TOOLS.values() if tool.is_offered()), *mcp_tools()]


def find(name: str) -> ServerTool | None:
    """The tool with this name, also one that comes with the product and is not offered."""
    return TOOLS.get(name) or mcp_tool(name)


def names() -> set[str]:
    """The names of all tools that `find` finds."""
    return {*TOOLS, *(tool.definition.name for tool in mcp_tools())}


def source_of(name: str) -> Literal["builtin", "mcp", "agent"]:
    """The kind of tool that has this name, offered or not."""
    if name == DELEGATE.definition.name:
        return "agent"
    return "mcp" if is_of_server(name) else "builtin"


def usable(names: Iterable[str]) -> list[ServerTool]:
    """Those of the tools that this host can run, in the catalog's order: the prompt's beginning stays the same."""
    chosen = set(names)
    return [tool for tool in offered() if tool.definition.name in chosen and not tool.lacks()]


def definitions_of(names: Iterable[str]) -> tuple[Tool, ...]:
    """The definitions of those of the tools that this host can run."""
    return tuple(tool.definition for tool in usable(names))


def run(call: Call, asker: Asker, is_approved: bool = False) -> Result:
    """Run one call. A fault of the call or of the tool is a result, which the model reads.

    is_approved: by the user. An operator may let a tool wait for approval while the call waits for a thread.
    """
    start_ns = time.perf_counter_ns()
    try:
        text, is_error = _answer(call, asker, is_approved), False
    except ToolError as error:
        text, is_error = str(error), True
    except Exception:  # a request whose tool raises would never end
        logger.exception("The tool %r failed", call.name[:100])
        text, is_error = _FAILED, True
    return Result(bounded(text), is_error, (time.perf_counter_ns() - start_ns) // 1000)


def _answer(call: Call, asker: Asker, is_approved: bool) -> str:
    tool = find(call.name)
    if tool is None or not tool.is_offered():
        raise ToolError(f"There is no tool {call.name[:100]!r}.")
    if tool.needs_approval and not is_approved:
        raise ToolError("Not run: this tool waits for its user's approval.")
    try:
        arguments = json.loads(call.arguments)
        return tool.run(arguments, asker)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ToolError(f"The arguments do not fit the tool's schema: {error}") from None


def bounded(text: str) -> str:
    """Return a result as the model reads it: without what is beyond MAX_RESULT_CHARS."""
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS]}\n(cut off here: the result has {len(text):,} characters)"
