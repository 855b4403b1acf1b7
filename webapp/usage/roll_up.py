"""The sums of usage records by hour and by day: kept with each record, rebuilt by a recount.

A record and its sums are written in one transaction, so they agree after a crash. Knows nothing of pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, TruncDay, TruncHour

from webapp.ground.postgres.patience import long_statements
from webapp.models.billing.bill import KINDS, UNPRICED
from webapp.usage import sketch
from webapp.usage.models import SUMMED, SpeedSketch, UsageRecord, UsageSum, UserSum

SPANS = ("hour", "day")
_SUMS: tuple[type[UsageSum] | type[UserSum], ...] = (UsageSum, UserSum)
_SKETCHED = (*sketch.TIMES, "duration_us", *KINDS)
"""Columns of a record that its sketch is made of."""
_SPEED_KEY = ("span", "start", "model", "surface")
_TABLES = (*_SUMS, SpeedSketch)


def add(record: UsageRecord) -> None:
    """Count a new record, in the transaction that inserts it.

    All transactions lock rows in one order: table by table, in each the hour before the day.
    """
    hour = record.accepted_at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    starts = (hour, hour.replace(hour=0))
    values = _values(record)
    for table in _SUMS:
        group = [getattr(record, column) for column in table.GROUPED]
        added = ", ".join(f"{name} = {table._meta.db_table}.{name} + excluded.{name}" for name in SUMMED)
        rows = [[span, _adapted(start), *group, *values] for span, start in zip(SPANS, starts, strict=True)]
        _upsert(table, ("span", "start", *table.GROUPED), SUMMED, rows, added)
    if new := sketch.sketch_of(_sketched({name: getattr(record, name) for name in _SKETCHED})):
        _merge(record, starts, new)


def _values(record: UsageRecord) -> list[int]:
    """The record's share of each sum, in the order of SUMMED."""
    unknown = record.uncached_input if record.is_cache_known is False else 0
    tokens = [getattr(record, kind) for kind in KINDS]
    num_unpriced = int(record.price_version == UNPRICED)
    return [1, num_unpriced, *tokens, unknown, record.cost_nano or 0, record.saved_nano or 0]


def _sketched(record: Mapping[str, Any]) -> dict[str, int | None]:
    """The values of a record's sketch. A request that used no token has no number of tokens."""
    used = {kind: record[kind] for kind in KINDS}
    has_tokens = any(used.values())
    return {name: record[name] for name in (*sketch.TIMES, "duration_us")} | {
        "input_tokens": sum(used.values()) - used["output"] if has_tokens else None,
        "output_tokens": used["output"] if has_tokens else None,
    }


def _adapted(start: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(start)


def _upsert(
    table: Any, keys: Sequence[str], columns: Sequence[str], rows: list[list[Any]], update: str, *returned: str
) -> list[tuple[Any, ...]]:
    """Insert the rows, or update those that exist. The SQL is that of SQLite and of PostgreSQL.

    Returns these columns of all rows.
    """
    marks = ", ".join([f"({', '.join(['%s'] * len(rows[0]))})"] * len(rows))
    returning = f" RETURNING {', '.join(returned)}" if returned else ""
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table._meta.db_table} ({', '.join((*keys, *columns))}) VALUES {marks} "
            f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {update}{returning}",
            [value for row in rows for value in row],
        )
        return list(cursor.fetchall()) if returned else []


def _merge(record: UsageRecord, starts: Sequence[datetime], new: bytes) -> None:
    """Merge into the sketches of hour and day. The first statement locks them before it reads them."""
    keys = [[span, _adapted(start), record.model, record.surface] for span, start in zip(SPANS, starts, strict=True)]
    same = f"sketch = {SpeedSketch._meta.db_table}.sketch"
    found = _upsert(SpeedSketch, _SPEED_KEY, ["sketch"], [[*key, b""] for key in keys], same, "span", "sketch")
    old = {span: bytes(each) for span, each in found}
    rows = [[*key, sketch.merge([old[span], new])] for span, key in zip(SPANS, keys, strict=True)]
    _upsert(SpeedSketch, _SPEED_KEY, ["sketch"], rows, "sketch = excluded.sketch")


def recount() -> int:
    """Rebuild all sums from the records, one day per transaction. Returns the number of days."""
    counted = [_days(UsageRecord, "accepted_at"), *(_days(table, "start") for table in _TABLES)]
    with long_statements(connection):
        days = {day for found in counted for day in found}
        for day in sorted(days):
            recount_day(day)
    return len(days)


def recount_if_never_counted() -> None:
    """Count records that have no sums at all, as a migration leaves them."""
    if UsageRecord.objects.exists() and not UsageSum.objects.exists():
        recount()


def _days(table: Any, column: str) -> Iterable[datetime]:
    """The days in UTC that have rows."""
    trunc = TruncDay(column, tzinfo=UTC)
    found: Iterable[datetime] = table.objects.order_by().annotate(day=trunc).values_list("day", flat=True).distinct()
    return found


def recount_day(day: datetime) -> None:
    """Replace the sums of a day in UTC by those of its records."""
    end = day + timedelta(days=1)
    with transaction.atomic():
        _block_additions()
        for table in _TABLES:
            table._default_manager.filter(start__gte=day, start__lt=end).delete()
        records = UsageRecord.objects.filter(accepted_at__gte=day, accepted_at__lt=end).order_by()
        for sums in _SUMS:
            for span, trunc in zip(SPANS, (TruncHour, TruncDay), strict=True):
                rows = _summed(sums, span, records.annotate(start=trunc("accepted_at", tzinfo=UTC)))
                sums._default_manager.bulk_create(rows, 500)
        SpeedSketch.objects.bulk_create(_sketches(day, records), 500)


def _block_additions() -> None:
    """Wait for settlements that have counted, and let later ones wait. On SQLite the transaction does so itself."""
    if connection.vendor == "postgresql":
        names = ", ".join(table._meta.db_table for table in _TABLES)
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {names} IN EXCLUSIVE MODE")


def _record_sums() -> dict[str, Any]:
    """The expressions over records that give each sum, in the order of SUMMED."""
    unknown = Coalesce(Sum("uncached_input", filter=Q(is_cache_known=False)), 0)
    sums = {column: Coalesce(Sum(column), 0) for column in (*KINDS, "cost_nano", "saved_nano")}
    counts = {"num_requests": Count("id"), "num_unpriced": Count("id", filter=Q(price_version=UNPRICED))}
    named = {**sums, **counts, "cache_unknown_input": unknown}
    return {f"sum_{name}": named[name] for name in SUMMED}


def _summed(table: Any, span: str, records: QuerySet[Any]) -> list[Any]:
    found = records.values("start", *table.GROUPED).annotate(**_record_sums())
    return [
        table(
            span=span,
            start=row["start"],
            **{name: row[name] for name in table.GROUPED},
            **{name: row[f"sum_{name}"] for name in SUMMED},
        )
        for row in found
    ]


def _sketches(day: datetime, records: QuerySet[UsageRecord]) -> list[SpeedSketch]:
    """The sketches of the day and of its hours."""
    hours = defaultdict[tuple[datetime, str, str], list[bytes]](list)
    rows = records.annotate(hour=TruncHour(F("accepted_at"), tzinfo=UTC))
    for row in rows.values("hour", "model", "surface", *_SKETCHED):
        if new := sketch.sketch_of(_sketched(row)):
            hours[row["hour"], row["model"], row["surface"]].append(new)
    days = defaultdict[tuple[str, str], list[bytes]](list)
    found = []
    for (hour, model, surface), each in hours.items():
        merged = sketch.merge(each)
        days[model, surface].append(merged)
        found.append(SpeedSketch(span="hour", start=hour, model=model, surface=surface, sketch=merged))
    for (model, surface), each in days.items():
        found.append(SpeedSketch(span="day", start=day, model=model, surface=surface, sketch=sketch.merge(each)))
    return found
