"""The bill of one request: usage times prices, posted once. Amounts are integers in billionths of the currency unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

import msgspec
from django.utils import timezone

from inference.protocol.events import BillLine, BillPosted
from inference.protocol.request import Usage
from webapp.billing.models import LedgerEntry, Price

Kind = Literal["uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output"]
KINDS: tuple[Kind, ...] = ("uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
UNPRICED = "unpriced"


def compute_lines(usage: Usage, unit_prices: Mapping[str, int]) -> tuple[BillLine, ...]:
    """Return one line per kind of token used. Raises KeyError when such a kind has no price."""
    counts = [(kind, getattr(usage, kind)) for kind in KINDS]
    return tuple(
        BillLine(kind=kind, num_tokens=count, unit_price_nano=unit_prices[kind], amount_nano=count * unit_prices[kind])
        for kind, count in counts
        if count
    )


def saved_nano(usage: Usage, unit_prices: Mapping[str, int]) -> int:
    """Return the cost of the same tokens without a cache, minus their cost: negative where writing cost more."""
    price = unit_prices["uncached_input"]
    return sum(getattr(usage, kind) * (price - unit_prices[kind]) for kind in KINDS if kind != "output")


def post_bill(request_id: str, user_id: int, model: str, usage: Usage) -> LedgerEntry:
    """Enter the bill in the ledger, once per request: a second call returns what the first one posted."""
    entry = LedgerEntry.objects.filter(request_id=request_id).first()
    return entry or _post(request_id, user_id, model, usage)


def bill_event(entry: LedgerEntry, at: int) -> BillPosted:
    """Return the event of a posted bill. at: µs since the request was accepted."""
    return BillPosted(
        at=at,
        currency=entry.currency,
        price_version=entry.price_version,
        lines=msgspec.convert(entry.lines, tuple[BillLine, ...]),
        total_nano=entry.total_nano,
    )


@dataclass(frozen=True)
class PricesInForce:
    """A full set of one model's prices."""

    prices: dict[str, Price]
    """Prices by kind of token."""
    currency: str
    version: str


def prices_in_force(model: str, day: date) -> PricesInForce | None:
    """The model's prices on a day. None: at least one kind of token has no price that day, so the model is unpriced."""
    rows = Price.objects.filter(model=model, effective_from__lte=day).order_by("effective_from")
    prices = {price.kind: price for price in rows}
    if any(kind not in prices for kind in KINDS):
        return None
    version = max(price.effective_from for price in prices.values()).isoformat()
    return PricesInForce(prices, prices["output"].currency, version)


def _post(request_id: str, user_id: int, model: str, usage: Usage) -> LedgerEntry:
    found = prices_in_force(model, timezone.now().date())
    unit_prices = {kind: price.unit_price_nano for kind, price in found.prices.items()} if found else {}
    lines = compute_lines(usage, unit_prices) if found else ()
    entry, _ = LedgerEntry.objects.get_or_create(
        request_id=request_id,
        defaults={
            "user_id": user_id,
            "model": model,
            "posted_at": timezone.now(),
            **msgspec.to_builtins(usage),
            "total_nano": sum(line.amount_nano for line in lines),
            "saved_nano": saved_nano(usage, unit_prices) if found else None,
            "currency": found.currency if found else "USD",
            "price_version": found.version if found else UNPRICED,
            "lines": msgspec.to_builtins(lines),
        },
    )
    return entry
