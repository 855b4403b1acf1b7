"""Reads the history of a period from the sums of usage, and the requests behind a suspicion from the records.

Knows nothing of what stands out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, QuerySet

from webapp.usage import sketch
from webapp.usage.findings.finding import Order, Seen
from webapp.usage.findings.history import History, Hour, Span, Use, WorkerDay, joined
from webapp.usage.listing import Reader, UsedRequest, used_requests
from webapp.usage.models import NUM_INPUT, UsageRecord
from webapp.usage.period import Period
from webapp.usage.sums import Filter, Totals, sketches, sums, times, worker_speeds

MAX_DAYS = 35
"""Findings cover at most the period's last days."""
_DAYS_BEFORE = 35
_WORKER_DAYS_BEFORE = 7
_ENDED = ("failed", "refused", "blocked", "withheld")
_NUM_TOP = 5
_MAX_SEEN = 5_000
_RANKED: dict[Order, str] = {
    "newest": "accepted_at",
    "cost": "cost_nano",
    "first_token": "first_token_us",
    "per_token": "per_token_us",
    "input": "num_input",
    "uncached": "uncached_input",
}


def covered(period: Period) -> Period:
    """The part of a period that findings cover."""
    first = max(period.first, period.last - timedelta(days=MAX_DAYS - 1))
    return replace(period, first=first)


def read_history(period: Period, chosen: Filter) -> History:
    """Read a period of at most MAX_DAYS with the days before it. Raises BadPeriod, OverflowError."""
    last = period.first - timedelta(days=1)
    earlier = Period(period.first - timedelta(days=_DAYS_BEFORE), last, period.zone)
    starts = [*_days(earlier), *_days(period)]
    num_before = earlier.num_days
    first_of_workers = num_before - _WORKER_DAYS_BEFORE
    return History(
        period.zone,
        tuple(starts),
        period.end,
        num_before,
        _series([earlier, period], chosen, "user_id"),
        _series([earlier, period], chosen, "model"),
        _causes([earlier, period], chosen),
        _hours([earlier, period], chosen),
        [
            WorkerDay(each.part + first_of_workers, *each[1:])
            for each in worker_speeds(chosen, starts[first_of_workers:], period.end)
        ],
    )


def _days(period: Period) -> list[datetime]:
    days = (period.first + timedelta(days=number) for number in range(period.num_days))
    return [Period(day, day, period.zone).start for day in days]


def _series(periods: Sequence[Period], chosen: Filter, column: str) -> dict[Any, list[Use]]:
    """The uses of each day by the column's values."""
    num_days = sum(period.num_days for period in periods)
    found = defaultdict[Any, list[list[Use]]](lambda: [[] for _ in range(num_days)])
    before = 0
    for period in periods:
        for row in sums(period, chosen, [column, "currency"], _days(period)):
            key, currency = row.keys
            found[key][before + row.part].append(_use(row.totals, currency))
        before += period.num_days
    return {key: [joined(uses) for uses in days] for key, days in found.items()}


def _use(totals: Totals, currency: str) -> Use:
    cached, written = totals.cache_read, totals.cache_write_5m + totals.cache_write_1h
    whole = totals.uncached_input + cached + written
    cost = {currency: totals.cost_nano} if currency else {}
    return Use(totals.num_requests, cost, whole, cached, whole - totals.cache_unknown_input, totals.output)


def _causes(periods: Sequence[Period], chosen: Filter) -> dict[tuple[str, str], list[int]]:
    num_days = sum(period.num_days for period in periods)
    found = defaultdict[tuple[str, str], list[int]](lambda: [0] * num_days)
    before = 0
    for period in periods:
        for row in sums(period, chosen, ["status", "error_code"], _days(period)):
            if row.keys[0] in _ENDED:
                found[row.keys[0], row.keys[1]][before + row.part] += row.totals.num_requests
        before += period.num_days
    return dict(found)


def _hours(periods: Sequence[Period], chosen: Filter) -> list[Hour]:
    parts = defaultdict[datetime, list[bytes]](list)
    for period in periods:
        for start, each in _sketches(period, chosen):
            parts[start.replace(minute=0, second=0, microsecond=0)].append(each)
    hours = (_hour(start, sketch.merge(parts[start])) for start in sorted(parts))
    return [hour for hour in hours if hour is not None]


def _sketches(period: Period, chosen: Filter) -> Iterable[tuple[datetime, bytes]]:
    found = sketches(period, chosen)
    if found is not None:
        return found
    rows = times(period, chosen)
    return [(at, sketch.sketch_of(dict(zip(sketch.TIMES, each, strict=True)))) for at, *each in rows]


def _hour(start: datetime, merged: bytes) -> Hour | None:
    first = sketch.percentiles(merged, "first_token_us", [0.25, 0.5])
    if first is None:
        return None
    (queue,) = sketch.percentiles(merged, "queue_us", [0.5]) or [0.0]
    low, middle = first
    return Hour(start, sketch.num_values(merged, "first_token_us"), low, middle, queue)


@dataclass(frozen=True)
class Records:
    """The evidence in the records."""

    chosen: Filter
    names: Mapping[int, str]
    reader: Reader
    is_own: bool

    def name(self, user_id: int) -> str:
        return self.names.get(user_id, str(user_id))

    def top(self, span: Span, order: Order, **conditions: Any) -> list[UsedRequest]:
        records = self._of(span, conditions).annotate(num_input=NUM_INPUT)
        ranked = records.order_by(F(_RANKED[order]).desc(nulls_last=True), "-accepted_at", "-pk")
        return used_requests(ranked[:_NUM_TOP], self.names, self.reader)

    def seen(self, span: Span, **conditions: Any) -> list[Seen]:
        columns = ("accepted_at", "user_id", "model", "worker", "status", "error_code")
        times_ = ("queue_us", "first_token_us", "per_token_us")
        rows = self._of(span, conditions).order_by("accepted_at").values_list(*columns, *times_)
        return [Seen(*row) for row in rows[:_MAX_SEEN]]

    def _of(self, span: Span, conditions: Mapping[str, Any]) -> QuerySet[UsageRecord]:
        chosen = UsageRecord.objects.filter(**self.chosen.conditions())
        return chosen.filter(accepted_at__gte=span.start, accepted_at__lt=span.end, **conditions)
