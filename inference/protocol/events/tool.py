"""Events of tools: called and finished. Knows nothing of how a tool runs."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import GenerationEvent
from inference.protocol.events.shown import Shown


class ToolCalled(GenerationEvent, frozen=True, kw_only=True, tag="tool.called"):
    """The model called a tool."""

    call_id: str
    name: str
    arguments: str
    """JSON, as the model wrote it."""
    source: Literal["builtin", "mcp"]
    sandbox: str = ""

    unredacted: ClassVar = "source"
    shown: ClassVar = Shown(is_mark=True, label="calls {name}", meaning="The answer pauses until the tool's result.")


class ToolFinished(GenerationEvent, frozen=True, kw_only=True, tag="tool.finished"):
    """A tool answered."""

    call_id: str
    result: str
    is_error: bool = False
    duration_us: int

    unredacted: ClassVar = "is_error duration_us"
