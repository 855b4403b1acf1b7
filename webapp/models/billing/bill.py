"""The bill of one request: usage times prices, posted once. Amounts are integers in billionths of the currency unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

import msgspec
from django.utils import timezone

from inference.protocol.events import BillLine, BillPosted
from inference.protocol.request import Usage
from webapp.models.billing.models import LedgerEntry, Price
from webapp.models.billing.price_book import KINDS as KINDS
from webapp.models.billing.price_book import Entry, PriceBook, PriceSet

UNPRICED = "unpriced"


@dataclass(frozen=True)
class Promise:
    """The prices by which a request is billed, known as it begins."""

    prices: PriceSet | None
    """None: it is unpriced."""


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


def post_bill(
    request_id: str,
    user_id: int,
    model: str,
    usage: Usage,
    is_batch: bool = False,
    promise: Promise | None = None,
) -> LedgerEntry:
    """Enter the bill in the ledger, once per request: a second call returns what the first one posted.

    is_batch: the request answers a line of a batch, at a lower price. promise: its prices; None: those of today.
    """
    entry = LedgerEntry.objects.filter(request_id=request_id).first()
    if entry is not None:
        return entry
    prices = (promise or promise_on(model, timezone.now().astimezone(UTC).date())).prices
    return _post(request_id, user_id, model, usage, prices.for_batches() if prices and is_batch else prices)


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


def promise_on(model: str, day: date) -> Promise:
    """What a request is promised that begins on a day."""
    return Promise(prices_in_force(model, day))


def promise_at(model: str, unix_us: int) -> Promise:
    """What a request is promised that is accepted at this time."""
    return promise_on(model, datetime.fromtimestamp(unix_us / 1e6, UTC).date())


def _post(request_id: str, user_id: int, model: str, usage: Usage, prices: PriceSet | None) -> LedgerEntry:
    unit_prices = prices.unit_nano if prices else {}
    lines = compute_lines(usage, unit_prices) if prices else ()
    entry, _ = LedgerEntry.objects.get_or_create(
        request_id=request_id,
        defaults={
            "user_id": user_id,
            "model": model,
            "posted_at": timezone.now(),
            **msgspec.to_builtins(usage),
            "total_nano": sum(line.amount_nano for line in lines),
            "saved_nano": saved_nano(usage, unit_prices) if prices else None,
            "currency": prices.currency if prices else "USD",
            "price_version": prices.version if prices else UNPRICED,
            "lines": msgspec.to_builtins(lines),
        },
    )
    return entry
