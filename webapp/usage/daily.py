"""One's use by day, model and key, and the pace to the month's end. Knows nothing of HTTP.

It reads the records themselves: the sums do not tell keys apart.
"""

from __future__ import annotations

import csv
import io
from calendar import monthrange
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

from django.db.models import Count, F, QuerySet, Sum, Value
from django.db.models.functions import TruncDate

from webapp.ground.gateway.structs import Result
from webapp.usage.models import UsageRecord
from webapp.usage.period import Period

_SUMMED = ("uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
FORMULA = "spent / days elapsed * days of the month"
"""Days elapsed count the part of today in UTC that has passed, and are one at least."""


class DayUse(Result):
    """The requests of one day with one model, key, user and currency."""

    day: date
    model: str
    key: str
    """The key's prefix; empty: a sign-in, a key that was deleted, or the reader sees no names."""
    user: str
    """Empty: the reader sees no names."""
    num_requests: int
    """Also those that were refused."""
    uncached_input: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int
    thinking: int | None
    """Part of output that is the models' thinking; null: not recorded for each of these requests."""
    currency: str
    """Empty: nothing was priced."""
    cost_nano: int


class Pace(Result):
    """One currency's cost in this month of UTC, and a projection to its end."""

    currency: str
    spent_nano: int
    projected_nano: int
    """If the rest of the month goes on like its beginning."""
    days_elapsed: float
    days_of_month: int
    budget_nano: int | None
    """The budget of the month in force; null: there is none."""
    formula: str = FORMULA


def daily_use(period: Period, user_ids: Iterable[int], is_named: bool = True) -> list[DayUse]:
    """Return the use of these users, by day in the period's zone. is_named: each key and user for itself."""
    rows = _of(user_ids).filter(accepted_at__gte=period.start, accepted_at__lt=period.end)
    local = rows.annotate(day=TruncDate("accepted_at", tzinfo=period.counted_in))
    named: dict[str, Any] = {"prefix": F("key__prefix"), "name": F("user__username")}
    if not is_named:
        named = dict.fromkeys(named, Value(""))
    grouped = local.order_by().values("day", "model", "currency", **named)
    sums: dict[str, Any] = {f"sum_{kind}": Sum(kind) for kind in (*_SUMMED, "thinking", "cost_nano")}
    found = grouped.annotate(num=Count("pk"), num_known=Count("thinking"), **sums)
    return sorted(map(_use, found), key=lambda use: (use.day, use.model, use.key, use.user, use.currency))


def pace(user_ids: Iterable[int], budget_nano: int | None, now: datetime) -> list[Pace]:
    """Return the cost of this month of UTC in each currency."""
    now = now.astimezone(UTC)
    start = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    rows = _of(user_ids).filter(accepted_at__gte=start).exclude(currency="")
    spent = rows.order_by("currency").values_list("currency").annotate(total=Sum("cost_nano", default=0))
    elapsed = max(1.0, (now - start).total_seconds() / 86_400)
    days = monthrange(now.year, now.month)[1]
    return [Pace(each, nano, round(nano / elapsed * days), elapsed, days, budget_nano) for each, nano in spent]


def as_csv(rows: Iterable[DayUse]) -> bytes:
    """Return the rows as CSV. A text that a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(DayUse.__struct_fields__)
    for row in rows:
        writer.writerow(_cell(getattr(row, name)) for name in DayUse.__struct_fields__)
    return text.getvalue().encode()


def _of(user_ids: Iterable[int]) -> QuerySet[UsageRecord]:
    return UsageRecord.objects.filter(user_id__in=list(user_ids))


def _use(row: Any) -> DayUse:
    return DayUse(
        day=row["day"],
        model=row["model"],
        key=row["prefix"] or "",
        user=row["name"],
        num_requests=row["num"],
        **{kind: row[f"sum_{kind}"] for kind in _SUMMED},
        thinking=row["sum_thinking"] if row["num_known"] == row["num"] else None,
        currency=row["currency"],
        cost_nano=row["sum_cost_nano"] or 0,
    )


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
