"""A tool of the server: its definition, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inference.protocol.tool_calls import Tool


class ToolError(Exception):
    """The tool cannot answer this call; the exception's text says why, for the model and for the reader."""


@dataclass(frozen=True)
class Asker:
    """The request whose answer made a call."""

    request_id: str
    user_id: int
    """Its owner. A tool reads and changes nothing of another user."""


@dataclass(frozen=True)
class ServerTool:
    """A tool that the server runs for an answer."""

    definition: Tool
    label: str
    """Its name on the screen."""
    run: Callable[[Mapping[str, Any], Asker], str]
    """Takes arguments that satisfy the definition's schema; raises ToolError."""
    needs_approval: bool = False
    """True where it changes something: its call waits until the user has approved it."""
    is_repeatable: bool = True
    """True where a repeated call has no further effect, so that a call that was lost is made again."""
    lacks: Callable[[], str] = str
    """Says why this host cannot run it; empty: it can."""
    is_offered: Callable[[], bool] = lambda: True
    """False where the operator has not turned it on: it is not listed."""
    sandbox: str = ""
    """The isolation in which it runs; empty: none."""


class BuiltIn(ServerTool):
    """A tool that comes with the product."""


class McpTool(ServerTool):
    """A tool of an MCP server, which an operator approved."""
