"""Usage and cost added up from the ledger, by the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncDate

from webapp.billing.models import LedgerEntry

_SUMS = {
    "num_requests": Count("id"),
    "uncached_input_sum": Sum("uncached_input"),
    "cache_read_sum": Sum("cache_read"),
    "cache_write_5m_sum": Sum("cache_write_5m"),
    "cache_write_1h_sum": Sum("cache_write_1h"),
    "output_sum": Sum("output"),
    "total_nano_sum": Sum("total_nano"),
}


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    label: str
    num_requests: int
    num_input_tokens: int
    num_cached_tokens: int
    num_output_tokens: int
    total_nano: int

    @property
    def cost(self) -> str:
        """In currency units, exact."""
        whole, nano = divmod(self.total_nano, 10**9)
        return f"{whole}.{nano:09d}"


def entries_between(start: date, end: date) -> QuerySet[LedgerEntry]:
    """Both days included, in UTC."""
    return LedgerEntry.objects.filter(posted_at__date__gte=start, posted_at__date__lte=end)


def by_day(entries: QuerySet[LedgerEntry]) -> list[Row]:
    return _rows(entries.annotate(day=TruncDate("posted_at")), "day")


def by_user(entries: QuerySet[LedgerEntry]) -> list[Row]:
    return _rows(entries, "user__username")


def by_model(entries: QuerySet[LedgerEntry]) -> list[Row]:
    return _rows(entries, "model")


def total(entries: QuerySet[LedgerEntry]) -> Row:
    return _row("Total", entries.aggregate(**_SUMS))


def _rows(entries: QuerySet[LedgerEntry], key: str) -> list[Row]:
    return [_row(str(sums[key]), sums) for sums in entries.values(key).annotate(**_SUMS).order_by(key)]


def _row(label: str, sums: dict[str, Any]) -> Row:
    def number(name: str) -> int:
        return int(sums[f"{name}_sum"] or 0)

    num_cached = number("cache_read")
    num_input = number("uncached_input") + num_cached + number("cache_write_5m") + number("cache_write_1h")
    return Row(label, sums["num_requests"], num_input, num_cached, number("output"), number("total_nano"))
