"""Events of tools: called and finished, and the approval before a call. Knows nothing of how a tool runs."""

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
    source: Literal["builtin", "mcp", "agent"]
    """`agent`: the call starts a request of its own."""
    sandbox: str = ""

    unredacted: ClassVar = "source"
    shown: ClassVar = Shown(
        lane="tools", is_mark=True, label="calls {name}", meaning="The answer pauses until the tool's result."
    )


class ToolFinished(GenerationEvent, frozen=True, kw_only=True, tag="tool.finished"):
    """A tool answered."""

    call_id: str
    result: str
    is_error: bool = False
    duration_us: int

    unredacted: ClassVar = "is_error duration_us"
    shown: ClassVar = Shown(lane="tools", meaning="The server ran the tool. Calls of one pause run side by side.")


class ToolApprovalAsked(GenerationEvent, frozen=True, kw_only=True, tag="tool.approval_asked"):
    """A call of a tool that changes something waits for the user's approval."""

    call_id: str
    name: str
    arguments: str
    """JSON, as the model wrote it."""
    timeout_us: int
    """Time for the user's decision. After it the call counts as declined."""

    unredacted: ClassVar = "timeout_us"
    shown: ClassVar = Shown(
        lane="tools",
        is_mark=True,
        label="asks to approve {name}",
        meaning="The call may change something, so it waits for its user.",
    )


class ToolApproved(GenerationEvent, frozen=True, kw_only=True, tag="tool.approved"):
    """The user approved a call. Nothing else approves one: no text of a model, of a document or of a tool."""

    call_id: str

    shown: ClassVar = Shown(
        lane="tools", is_mark=True, label="approved", meaning="The user approved the call, which runs now."
    )


class ToolDeclined(GenerationEvent, frozen=True, kw_only=True, tag="tool.declined"):
    """A call is not made. The model reads that it was declined."""

    call_id: str
    by: Literal["user", "time"]
    """`time`: no decision came in time."""

    unredacted: ClassVar = "by"
    shown: ClassVar = Shown(lane="tools", is_mark=True, label="declined by {by}", meaning="The call is not made.")
