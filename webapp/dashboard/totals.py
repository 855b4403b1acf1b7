"""Sums of usage and cost from the ledger, computed by the database."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from webapp.billing.bill import UNPRICED
from webapp.billing.models import LedgerEntry

_SUMS = {
    "num_requests": Count("id"),
    "uncached_input_sum": Sum("uncached_input"),
    "cache_read_sum": Sum("cache_read"),
    "cache_write_5m_sum": Sum("cache_write_5m"),
    "cache_write_1h_sum": Sum("cache_write_1h"),
    "output_sum": Sum("output"),
    "num_unpriced": Count("id", filter=Q(price_version=UNPRICED)),
}


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    label: str
    num_requests: int
    num_input_tokens: int
    num_cached_tokens: int
    num_output_tokens: int
    total_nano: dict[str, int]
    """Cost by currency of the requests that had a price."""
    num_unpriced: int

    @property
    def cost(self) -> str:
        """Exact cost in currency units; amounts of two currencies are never added."""
        amounts = [f"{_amount(nano)} {currency}" for currency, nano in sorted(self.total_nano.items())]
        unpriced = ["unpriced"] if self.num_unpriced == self.num_requests else [f"{self.num_unpriced} unpriced"]
        return ", ".join([*amounts, *(unpriced if self.num_unpriced else [])]) or "nothing"


def _amount(total_nano: int) -> str:
    whole, nano = divmod(total_nano, 10**9)
    return f"{whole}.{nano:09d}"


def entries_between(start: date, end: date) -> QuerySet[LedgerEntry]:
    """Entries of these days in UTC, both included."""
    return LedgerEntry.objects.filter(posted_at__date__gte=start, posted_at__date__lte=end)


def by_day(entries: QuerySet[LedgerEntry]) -> list[Row]:
    return _rows(entries.annotate(day=TruncDate("posted_at")), "day")


def by_user(entries: QuerySet[LedgerEntry]) -> list[Row]:
    return _rows(entries, "user__username")


def by_model(entries: QuerySet[LedgerEntry]) -> list[Row]:
    return _rows(entries, "model")


def total(entries: QuerySet[LedgerEntry]) -> Row:
    costs = {row["currency"]: row["nano"] for row in _priced(entries, "currency")}
    return _row("Total", entries.aggregate(**_SUMS), costs)


def _rows(entries: QuerySet[LedgerEntry], key: str) -> list[Row]:
    costs = defaultdict[Any, dict[str, int]](dict)
    for row in _priced(entries, key, "currency"):
        costs[row[key]][row["currency"]] = row["nano"]
    found = entries.values(key).annotate(**_SUMS).order_by(key)
    return [_row(str(sums[key]), sums, costs[sums[key]]) for sums in found]


def _priced(entries: QuerySet[LedgerEntry], *keys: str) -> QuerySet[LedgerEntry, dict[str, Any]]:
    """Total cost of the priced entries, grouped by these keys."""
    priced = entries.exclude(price_version=UNPRICED).values(*keys)
    found: QuerySet[LedgerEntry, dict[str, Any]] = priced.annotate(nano=Sum("total_nano")).order_by(*keys)
    return found


def _row(label: str, sums: dict[str, Any], costs: dict[str, int]) -> Row:
    def number(name: str) -> int:
        return int(sums[f"{name}_sum"] or 0)

    num_cached = number("cache_read")
    num_input = number("uncached_input") + num_cached + number("cache_write_5m") + number("cache_write_1h")
    counts = (sums["num_requests"], num_input, num_cached, number("output"))
    return Row(label, *counts, costs, sums["num_unpriced"])
