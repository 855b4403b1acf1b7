"""A tool of the server: its definition, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inference.protocol.tool_calls import Tool


class ToolError(Exception):
    """The tool cannot answer this call; the exception's text says why, for the model and for the reader."""


@dataclass(frozen=True)
class BuiltIn:
    """A tool that comes with the product. A repeated call has no further effect."""

    definition: Tool
    label: str
    """Its name on the screen."""
    run: Callable[[Mapping[str, Any]], str]
    """Takes arguments that satisfy the definition's schema; raises ToolError."""
