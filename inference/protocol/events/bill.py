"""Events of the bill: one line per kind of token. Knows nothing of ledgers."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import Event, Value
from inference.protocol.events.shown import Shown


class BillLine(Value, frozen=True, kw_only=True):
    """One kind of token on the bill."""

    kind: Literal["uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output"]
    num_tokens: int
    unit_price_nano: int
    """Price of one token in billionths of the currency unit."""
    amount_nano: int
    """num_tokens * unit_price_nano."""

    unredacted: ClassVar = "kind num_tokens unit_price_nano amount_nano"


class BillPosted(Event, frozen=True, kw_only=True, tag="bill.posted"):
    """The request's bill entered the ledger, once."""

    currency: str
    price_version: str
    """Version of the prices, from the price table."""
    lines: tuple[BillLine, ...]
    total_nano: int

    unredacted: ClassVar = "currency price_version lines total_nano"
    shown: ClassVar = Shown(lane="bill", scene="bill", replay_ms=2000)
