"""The sums of usage records by hour and by day: kept with each record, rebuilt by a recount.

A record and its sums are written in one transaction, so they agree after a crash. Knows nothing of pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Model, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, TruncDay, TruncHour

from webapp.usage import sketch
from webapp.usage.models import (
    GROUPED,
    SUMMED,
    SpeedDay,
    SpeedHour,
    UsageDay,
    UsageHour,
    UsageRecord,
)

UNPRICED = "unpriced"
_TOKENS = ("uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output")


def add(record: UsageRecord) -> None:
    """Count a new record, in the transaction that inserts it.

    All transactions lock rows in one order: hour, day, speed of hour, speed of day.
    """
    hour = record.accepted_at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    values = _values(record)
    for table, start in ((UsageHour, hour), (UsageDay, day)):
        _upsert(table, start, record, values)
    if new := sketch.sketch_of(times_of(record)):
        _merge(SpeedHour, hour, record, new)
        _merge(SpeedDay, day, record, new)


def times_of(record: UsageRecord) -> dict[str, int | None]:
    return {name: getattr(record, name) for name in sketch.METRICS}


def _values(record: UsageRecord) -> list[int]:
    """The record's share of each sum, in the order of SUMMED."""
    unknown = record.uncached_input if record.is_cache_known is False else 0
    tokens = [getattr(record, kind) for kind in _TOKENS]
    num_unpriced = int(record.price_version == UNPRICED)
    return [1, num_unpriced, *tokens, unknown, record.cost_nano or 0, record.saved_nano or 0]


def _upsert(table: type[Model], start: datetime, record: UsageRecord, values: list[int]) -> None:
    """Add to the row in the database, as two requests may end at once. The SQL is that of SQLite and PostgreSQL."""
    name = table._meta.db_table
    keys = ("start", *GROUPED)
    columns = ", ".join((*keys, *SUMMED))
    sums = ", ".join(f"{column} = {name}.{column} + excluded.{column}" for column in SUMMED)
    marks = ", ".join(["%s"] * (len(keys) + len(SUMMED)))
    insert = f"INSERT INTO {name} ({columns}) VALUES ({marks})"
    group = [getattr(record, column) for column in GROUPED]
    with connection.cursor() as cursor:
        cursor.execute(
            f"{insert} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sums}",
            [connection.ops.adapt_datetimefield_value(start), *group, *values],
        )


def _merge(table: type[SpeedHour] | type[SpeedDay], start: datetime, record: UsageRecord, new: bytes) -> None:
    rows: Any = table._default_manager
    where = {"start": start, "surface": record.surface, "model": record.model}
    row = rows.select_for_update().filter(**where).first()
    if row is None:
        rows.bulk_create([table(**where, sketch=b"")], ignore_conflicts=True)
        row = rows.select_for_update().get(**where)
    row.sketch = sketch.merge([bytes(row.sketch), new])
    row.save(update_fields=["sketch"])


def recount() -> int:
    """Rebuild all sums from the records, one day per transaction. Returns the number of days."""
    days = {
        *_days(UsageRecord.objects.all(), "accepted_at"),
        *_days(UsageDay.objects.all(), "start"),
        *_days(SpeedDay.objects.all(), "start"),
    }
    for day in sorted(days):
        recount_day(day)
    return len(days)


def recount_if_never_counted() -> None:
    """Count records that have no sums at all, as a migration leaves them."""
    if UsageRecord.objects.exists() and not UsageHour.objects.exists():
        recount()


def _days(rows: QuerySet[Any], column: str) -> Iterable[datetime]:
    """The days in UTC that have rows."""
    trunc = TruncDay(column, tzinfo=UTC)
    found: Iterable[datetime] = rows.order_by().annotate(day=trunc).values_list("day", flat=True).distinct()
    return found


def recount_day(day: datetime) -> None:
    """Replace the sums of a day in UTC by those of its records."""
    within = Q(start__gte=day, start__lt=day + timedelta(days=1))
    with transaction.atomic():
        _block_additions()
        for table in (UsageHour, UsageDay, SpeedHour, SpeedDay):
            table._default_manager.filter(within).delete()
        records = UsageRecord.objects.filter(accepted_at__gte=day, accepted_at__lt=day + timedelta(days=1))
        UsageHour.objects.bulk_create(_summed(UsageHour, records, TruncHour("accepted_at", tzinfo=UTC)), 500)
        UsageDay.objects.bulk_create(_summed(UsageDay, records, TruncDay("accepted_at", tzinfo=UTC)), 500)
        _recount_speed(day, records)


def _block_additions() -> None:
    """Wait for settlements that have counted, and let later ones wait. On SQLite the transaction does so itself."""
    if connection.vendor == "postgresql":
        names = ", ".join(table._meta.db_table for table in (UsageHour, UsageDay, SpeedHour, SpeedDay))
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {names} IN EXCLUSIVE MODE")


def _summed(table: type[Any], records: QuerySet[UsageRecord], trunc: Any) -> list[Any]:
    unknown = Coalesce(Sum("uncached_input", filter=Q(is_cache_known=False)), 0)
    sums = {column: Coalesce(Sum(column), 0) for column in (*_TOKENS, "cost_nano", "saved_nano")}
    counts = {"num_requests": Count("id"), "num_unpriced": Count("id", filter=Q(price_version=UNPRICED))}
    renamed = {f"sum_{name}": value for name, value in {**sums, **counts, "cache_unknown_input": unknown}.items()}
    found = records.order_by().annotate(hour=trunc).values("hour", *GROUPED).annotate(**renamed)
    return [
        table(
            start=row["hour"],
            **{name: row[name] for name in GROUPED},
            **{name: row[f"sum_{name}"] for name in SUMMED},
        )
        for row in found
    ]


def _recount_speed(day: datetime, records: QuerySet[UsageRecord]) -> None:
    sketches = defaultdict[tuple[datetime, str, str], list[bytes]](list)
    hour = TruncHour("accepted_at", tzinfo=UTC)
    rows = records.order_by().annotate(hour=hour).values("hour", "surface", "model", *sketch.METRICS)
    for row in rows.iterator(chunk_size=5000):
        if new := sketch.sketch_of({name: row[name] for name in sketch.METRICS}):
            sketches[row["hour"], row["surface"], row["model"]].append(new)
    hours = {key: sketch.merge(each) for key, each in sketches.items()}
    days = defaultdict[tuple[str, str], list[bytes]](list)
    for (_, surface, model), each in hours.items():
        days[surface, model].append(each)
    SpeedHour.objects.bulk_create(
        [SpeedHour(start=start, surface=s, model=m, sketch=each) for (start, s, m), each in hours.items()], 500
    )
    SpeedDay.objects.bulk_create(
        [SpeedDay(start=day, surface=s, model=m, sketch=sketch.merge(each)) for (s, m), each in days.items()], 500
    )
