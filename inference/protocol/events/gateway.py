"""Events of the gate: a request's owner and limits. Knows nothing of how a limit is counted."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import Event, Value
from inference.protocol.events.shown import Shown


class Limit(Value, frozen=True, kw_only=True):
    """One limit and where it stood."""

    name: Literal["requests", "input_tokens", "output_tokens", "concurrency", "budget", "message_bytes"]
    limit: int
    remaining: int
    """Before this request took anything of it."""
    reset_unix_us: int | None = None
    """When it is full again; None where it does not refill by itself."""
    num_taken: int | None = None
    """What this request took of it; a place among the open ones comes back when it ends. None: not recorded."""
    refill_per_s: float | None = None
    """What comes back in a second by itself, 0 where nothing does; None: not recorded."""

    kept: ClassVar = "name limit remaining reset_unix_us num_taken refill_per_s"


class GatewayChecked(Event, frozen=True, kw_only=True, tag="gateway.checked"):
    """Who asked, and what the gate looked at."""

    principal: str
    """`user:<id>` or `key:<prefix>`."""
    limits: tuple[Limit, ...] = ()
    duration_us: int
    """Time in the gateway up to here."""

    kept: ClassVar = "limits duration_us"
    shown: ClassVar = Shown(lane="gateway", scene="message", replay_ms=900)


class GatewayRefused(Event, frozen=True, kw_only=True, tag="gateway.refused"):
    """The gate said no."""

    principal: str
    limit: Limit
    message: str

    kept: ClassVar = "limit"
    shown: ClassVar = Shown(
        lane="gateway",
        is_mark=True,
        label="refused: {limit.name}",
        meaning="A limit was reached.",
        scene="message",
        replay_ms=1200,
    )
