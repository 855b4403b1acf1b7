"""Events of the gateway: a request's owner and limits. Knows nothing of how a limit is counted."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import Event, Value
from inference.protocol.events.shown import Shown


class Limit(Value, frozen=True, kw_only=True):
    """One limit and its state before this request."""

    name: Literal[
        "requests",
        "input_tokens",
        "output_tokens",
        "daily_tokens",
        "concurrency",
        "daily_budget",
        "monthly_budget",
        "message_bytes",
    ]
    subject: Literal["user", "key", "group", "model", "site"] = "user"
    """All requests of this subject take from it together. model: perhaps those of this user alone."""
    limit: int
    remaining: int
    """Amount left before this request took its share."""
    reset_unix_us: int | None = None
    """Moment at which the limit is full again. None: it does not refill by itself."""
    num_taken: int | None = None
    """Amount that this request took or reserved. A place among the open requests returns when it ends. Reserved tokens
    and money become those that it used. None: not recorded."""
    refill_per_s: float | None = None
    """Amount that returns by itself each second; 0: nothing does. None: not recorded."""

    currency: str = ""
    """Of a budget, whose amounts are billionths of its unit. Empty: it is no budget."""

    unredacted: ClassVar = "name subject limit remaining reset_unix_us num_taken refill_per_s currency"


class GatewayChecked(Event, frozen=True, kw_only=True, tag="gateway.checked"):
    """The request's owner and the limits that the gateway checked."""

    principal: str
    """`user:<id>` or `key:<prefix>`."""
    limits: tuple[Limit, ...] = ()
    duration_us: int
    """Time in the gateway up to here."""

    unredacted: ClassVar = "limits duration_us"
    shown: ClassVar = Shown(lane="gateway", scene="gateway", replay_ms=900)
