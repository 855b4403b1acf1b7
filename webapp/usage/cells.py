"""Reads the sums of a period: one cell per part of the chart and group of requests. Knows nothing of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Sum

from webapp.usage.models import GROUPED, SUMMED, SpeedDay, SpeedHour, UsageDay, UsageHour, UsageRecord
from webapp.usage.period import Period
from webapp.usage.sketch import METRICS


@dataclass(frozen=True)
class Filter:
    """Requests that are counted. An empty value lets all through."""

    model: str = ""
    surface: str = ""
    user_ids: tuple[int, ...] | None = None
    """None: of all users."""
    status: str = ""

    @property
    def needs_records(self) -> bool:
        """True if sketches cannot tell these requests apart."""
        return self.user_ids is not None or bool(self.status)

    def conditions(self) -> dict[str, Any]:
        """As arguments of a query set's `filter`."""
        named = {"model": self.model, "surface": self.surface, "status": self.status}
        found: dict[str, Any] = {name: value for name, value in named.items() if value}
        if self.user_ids is not None:
            found["user_id__in"] = self.user_ids
        return found


class Cell(NamedTuple):
    """Sums of the requests of one part of the chart that agree in all grouped columns."""

    part: int
    user_id: int
    surface: str
    model: str
    status: str
    error_code: str
    verdict: str
    currency: str
    num_requests: int
    num_unpriced: int
    uncached_input: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int
    cache_unknown_input: int
    cost_nano: int
    saved_nano: int


def cells(period: Period, chosen: Filter, starts: Sequence[datetime]) -> list[Cell]:
    """Return the cells of the parts that begin at these instants; the last part ends with the period."""
    table = UsageDay if period.is_in_utc_days else UsageHour
    where, values = _where(chosen)
    sums = ", ".join(f"CAST(SUM({column}) AS BIGINT)" for column in SUMMED)
    grouped = ", ".join(GROUPED)
    adapt = connection.ops.adapt_datetimefield_value
    parts = [(number, adapt(start), adapt(end)) for number, (start, end) in enumerate(_spans(starts, period.end))]
    marks = ", ".join(["(%s, %s, %s)"] * len(parts))
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH part(number, first, next) AS (VALUES {marks}) "
            f"SELECT number, {grouped}, {sums} FROM part "
            f"JOIN {table._meta.db_table} ON start >= first AND start < next {where} "
            f"GROUP BY number, {grouped}",
            [value for part in parts for value in part] + values,
        )
        return [Cell(*row) for row in cursor.fetchall()]


def _where(chosen: Filter) -> tuple[str, list[Any]]:
    named = [("model", chosen.model), ("surface", chosen.surface), ("status", chosen.status)]
    clauses = [f"AND {column} = %s" for column, value in named if value]
    values: list[Any] = [value for _, value in named if value]
    if chosen.user_ids is not None:
        marks = ", ".join(["%s"] * len(chosen.user_ids)) or "NULL"
        clauses.append(f"AND user_id IN ({marks})")
        values += chosen.user_ids
    return " ".join(clauses), values


def _spans(starts: Sequence[datetime], end: datetime) -> Iterator[tuple[datetime, datetime]]:
    return zip(starts, [*starts[1:], end], strict=True)


def sketches(period: Period, chosen: Filter) -> list[tuple[datetime, bytes]]:
    """Return the start and the sketch of each hour or day, for a filter that needs no records."""
    table: Any = SpeedDay if period.is_in_utc_days else SpeedHour
    rows = table.objects.filter(start__gte=period.start, start__lt=period.end, **chosen.conditions())
    return [(start, bytes(sketch)) for start, sketch in rows.order_by("start").values_list("start", "sketch")]


def times(period: Period, chosen: Filter) -> list[tuple[Any, ...]]:
    """Return time of arrival and each metric's value of every request, for a filter that needs the records."""
    rows = UsageRecord.objects.filter(accepted_at__gte=period.start, accepted_at__lt=period.end, **chosen.conditions())
    return list(rows.values_list("accepted_at", *METRICS))


def by_hour(period: Period, chosen: Filter) -> list[tuple[datetime, int]]:
    """Return the number of requests of each hour."""
    rows = UsageHour.objects.filter(start__gte=period.start, start__lt=period.end, **chosen.conditions())
    return list(rows.order_by().values("start").annotate(num=Sum("num_requests")).values_list("start", "num"))
