"""Reads sums of a period from the smallest table that tells the asked requests apart. Knows nothing of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import QuerySet, Sum

from webapp.models.billing.bill import UNPRICED
from webapp.usage.models import SUMMED, SpeedSketch, UsageRecord, UsageSum, UserSum
from webapp.usage.period import Period
from webapp.usage.sketch import TIMES

_OF_RECORDS = {
    "num_requests": "COUNT(*)",
    "num_unpriced": f"SUM(CASE WHEN price_version = '{UNPRICED}' THEN 1 ELSE 0 END)",
    "cache_unknown_input": "SUM(CASE WHEN COALESCE(is_cache_known, TRUE) THEN 0 ELSE uncached_input END)",
}
"""Sums over records where the column is not simply added up."""


@dataclass(frozen=True)
class Filter:
    """Requests that are counted. An empty value lets all through."""

    model: str = ""
    surface: str = ""
    user_ids: tuple[int, ...] | None = None
    """None: of all users."""
    status: str = ""
    error_code: str = ""
    """Cause of a failure or refusal."""
    verdict: str = ""

    @property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The allowed values of each column that is filtered."""
        texts = ("model", "surface", "status", "error_code", "verdict")
        named = {name: getattr(self, name) for name in texts}
        found: dict[str, tuple[Any, ...]] = {name: (value,) for name, value in named.items() if value}
        if self.user_ids is not None:
            found["user_id"] = self.user_ids
        return found

    def conditions(self) -> dict[str, Any]:
        """As arguments of a query set's `filter`."""
        return {f"{name}__in": values for name, values in self.columns.items()}


class Totals(NamedTuple):
    """Sums of some requests, in the order of SUMMED."""

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

    @property
    def num_input(self) -> int:
        """All tokens of prompts."""
        return self.uncached_input + self.cache_read + self.cache_write_5m + self.cache_write_1h


class Row(NamedTuple):
    """Sums of the requests of one part of a chart that agree in the asked columns."""

    part: int
    keys: tuple[Any, ...]
    """Values of the asked columns, in their order."""
    totals: Totals


@dataclass(frozen=True)
class Buckets:
    """Values of a column that are told apart by number; all others are one more number."""

    column: str
    values: Sequence[Sequence[Any]]


def sums(
    period: Period,
    chosen: Filter,
    columns: Sequence[str],
    starts: Sequence[datetime] | None = None,
    buckets: Buckets | None = None,
) -> list[Row]:
    """Return the sums of the parts that begin at these instants; None: of the whole period.

    With buckets, the first key is the number of the bucket.
    """
    needed = {*columns, *chosen.columns, *([buckets.column] if buckets else [])}
    source = _source(needed, period)
    bucket, values = _case(buckets)
    keys = [*bucket, *columns]
    where, filtered = _where(chosen.columns)
    parts = list(zip(starts or [period.start], [*(starts or [])[1:], period.end], strict=True))
    marks = ", ".join(["(%s, %s, %s)"] * len(parts))
    span = "" if source.span is None else f" AND span = '{source.span}'"
    selected = ", ".join(["number", *keys, *source.sums])
    adapt = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH part(number, first, next) AS (VALUES {marks}) SELECT {selected} FROM part "
            f"JOIN {source.table} ON {source.time} >= first AND {source.time} < next{span}{where} "
            f"GROUP BY {', '.join(str(place + 1) for place in range(len(keys) + 1))}",
            [
                *(value for number, (start, end) in enumerate(parts) for value in (number, adapt(start), adapt(end))),
                *values,
                *filtered,
            ],
        )
        return [Row(row[0], row[1 : 1 + len(keys)], Totals(*row[1 + len(keys) :])) for row in cursor.fetchall()]


@dataclass(frozen=True)
class _Source:
    table: str
    time: str
    span: str | None
    sums: list[str]


def _source(needed: set[str], period: Period) -> _Source:
    if table := _table_with(needed):
        added = [f"CAST(SUM({column}) AS BIGINT)" for column in SUMMED]
        return _Source(table._meta.db_table, "start", period.span, added)
    expressions = [_OF_RECORDS.get(column, f"COALESCE(SUM({column}), 0)") for column in SUMMED]
    added = [f"CAST({expression} AS BIGINT)" for expression in expressions]
    return _Source(UsageRecord._meta.db_table, "accepted_at", None, added)


def _table_with(columns: AbstractSet[str]) -> type[UsageSum] | type[UserSum] | None:
    """The table of sums that keeps these columns apart. None: only the records do."""
    return next((table for table in (UsageSum, UserSum) if columns <= set(table.GROUPED)), None)


def _records(period: Period, chosen: Filter) -> QuerySet[UsageRecord]:
    return UsageRecord.objects.filter(accepted_at__gte=period.start, accepted_at__lt=period.end, **chosen.conditions())


class WorkerSpeed(NamedTuple):
    """Requests of one worker with one model in one part."""

    part: int
    worker: str
    model: str
    num_requests: int
    per_token_us: float
    """Mean time per output token."""


def worker_speeds(chosen: Filter, starts: Sequence[datetime], end: datetime) -> list[WorkerSpeed]:
    """Return the speed of each worker with each model, in the parts that begin at these instants."""
    where, filtered = _where(chosen.columns)
    marks = ", ".join(["(%s, %s, %s)"] * len(starts))
    adapt = connection.ops.adapt_datetimefield_value
    parts = enumerate(zip(starts, [*starts[1:], end], strict=True))
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH part(number, first, next) AS (VALUES {marks}) "
            "SELECT number, worker, model, COUNT(*), AVG(per_token_us) FROM part "
            f"JOIN {UsageRecord._meta.db_table} ON accepted_at >= first AND accepted_at < next{where} "
            "WHERE per_token_us IS NOT NULL AND worker <> '' GROUP BY 1, 2, 3",
            [*(value for number, (a, b) in parts for value in (number, adapt(a), adapt(b))), *filtered],
        )
        rows: list[tuple[int, str, str, int, Any]] = cursor.fetchall()
    return [WorkerSpeed(part, worker, model, num, float(mean)) for part, worker, model, num, mean in rows]


def _case(buckets: Buckets | None) -> tuple[list[str], list[Any]]:
    if buckets is None:
        return [], []
    whens, values = [], list[Any]()
    for number, some in enumerate(buckets.values):
        whens.append(f"WHEN {buckets.column} IN ({', '.join(['%s'] * len(some))}) THEN {number}")
        values += some
    return [f"CASE {' '.join(whens)} ELSE {len(buckets.values)} END"] if whens else ["0"], values


def _where(columns: Mapping[str, Sequence[Any]]) -> tuple[str, list[Any]]:
    clauses, values = [], list[Any]()
    for column, allowed in columns.items():
        clauses.append(f" AND {column} IN ({', '.join(['%s'] * len(allowed)) or 'NULL'})")
        values += allowed
    return "".join(clauses), values


def sketches(period: Period, chosen: Filter) -> list[tuple[datetime, bytes]] | None:
    """Return the start and the sketch of each hour or day. None: sketches do not tell these requests apart."""
    if not chosen.columns.keys() <= {"model", "surface"}:
        return None
    rows = SpeedSketch.objects.filter(
        span=period.span, start__gte=period.start, start__lt=period.end, **chosen.conditions()
    )
    return [(start, bytes(each)) for start, each in rows.order_by("start").values_list("start", "sketch")]


def times(period: Period, chosen: Filter) -> list[tuple[Any, ...]]:
    """Return time of arrival and each metric's value of every request."""
    return list(_records(period, chosen).values_list("accepted_at", *TIMES))


def by_hour(period: Period, chosen: Filter) -> list[tuple[datetime, int]]:
    """Return the number of requests of each hour."""
    table: Any = _table_with(chosen.columns.keys())
    if table is None:
        return [(at, 1) for at in _records(period, chosen).values_list("accepted_at", flat=True)]
    rows = table.objects.filter(span="hour", start__gte=period.start, start__lt=period.end, **chosen.conditions())
    return list(rows.order_by().values("start").annotate(num=Sum("num_requests")).values_list("start", "num"))
