"""The bill of one request: usage times prices, posted once. Amounts are integers in billionths of the currency unit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import msgspec
from django.utils import timezone

from inference.protocol.events import BillLine, BillPosted
from inference.protocol.request import Usage
from webapp.billing.book import KINDS as KINDS
from webapp.billing.book import Entry, PriceBook, PriceSet
from webapp.billing.models import LedgerEntry, Price

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


def post_bill(request_id: str, user_id: int, model: str, usage: Usage, is_batch: bool = False) -> LedgerEntry:
    """Enter the bill in the ledger, once per request: a second call returns what the first one posted.

    is_batch: the request answers a line of a batch, at a lower price.
    """
    entry = LedgerEntry.objects.filter(request_id=request_id).first()
    return entry or _post(request_id, user_id, model, usage, is_batch)


def bill_event(entry: LedgerEntry, at: int) -> BillPosted:
    """Return the event of a posted bill. at: µs since the request was accepted."""
    return BillPosted(
        at=at,
        currency=entry.currency,
        price_version=entry.price_version,
        lines=msgspec.convert(entry.lines, tuple[BillLine, ...]),
        total_nano=entry.total_nano,
    )


def price_book(model: str | None = None) -> PriceBook:
    """All prices of one model, or of every model."""
    rows = Price.objects.filter(**({} if model is None else {"model": model})).order_by("effective_from")
    columns = ("model", "kind", "unit_price_nano", "currency", "effective_from")
    return PriceBook(tuple(Entry(*row) for row in rows.values_list(*columns)))


def prices_in_force(model: str, day: date) -> PriceSet | None:
    """The model's prices on a day. None: a kind of token has no price that day, so the model is unpriced."""
    return price_book(model).in_force(model, day)


def _post(request_id: str, user_id: int, model: str, usage: Usage, is_batch: bool) -> LedgerEntry:
    found = prices_in_force(model, timezone.now().date())
    if found is not None and is_batch:
        found = found.for_batches()
    unit_prices = found.unit_nano if found else {}
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
