"""Events of agents: requests that a request starts for a call of its answer. Knows nothing of how they run."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import GenerationEvent
from inference.protocol.events.shown import Shown
from inference.protocol.request import Usage


class AgentStarted(GenerationEvent, frozen=True, kw_only=True, tag="agent.started"):
    """A call started an agent: a request of its own, with its own trace and bill."""

    call_id: str
    request_id: str
    """The agent's request."""
    accepted_unix_us: int
    """Wall clock at the agent's acceptance, µs since the epoch: the zero of every `at` of its trace."""

    unredacted: ClassVar = "request_id accepted_unix_us"
    shown: ClassVar = Shown(
        lane="tools",
        is_mark=True,
        label="starts an agent",
        meaning="The agent answers the task in a request of its own. This request waits and holds no worker.",
    )


class AgentFinished(GenerationEvent, frozen=True, kw_only=True, tag="agent.finished"):
    """An agent's request ended. Its bill is a part of this request's."""

    call_id: str
    request_id: str
    """The agent's request."""
    status: Literal["done", "stopped", "withheld", "blocked", "failed"]
    usage: Usage
    total_nano: int | None = None
    """Its bill, in billionths of the currency unit; None: its model has no price."""
    currency: str = ""
    """The bill's; empty: nothing was billed, or the model has no price."""

    unredacted: ClassVar = "request_id status usage total_nano currency"
    shown: ClassVar = Shown(
        lane="tools", is_mark=True, label="agent {status}", meaning="The agent's answer is the call's result."
    )
