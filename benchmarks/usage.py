"""The usage report over many requests, and the price of recording them: `python -m benchmarks.usage [requests]`.

Fills a database with a year of made-up records: 200 users, 3 models, 2 surfaces, an office's daily rhythm. Then it
times reports through the API's own function. `SIGHTGLASS_DATABASE_URL` names a PostgreSQL database to fill; without
it the database is a new SQLite file. Recording is timed as whole transactions, with and without the record of use.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

_NUM_REQUESTS = 1_000_000
_MADE = 1_000_000
"""Records that are made one by one; a larger number consists of their copies."""
_NUM_USERS = 200
_DAYS = 365
_LAST = date(2026, 10, 31)
_ROUNDS = 7
_RECORDED = 300


def main() -> None:
    num_requests = int(sys.argv[1]) if len(sys.argv) > 1 else _NUM_REQUESTS
    os.environ.setdefault("SIGHTGLASS_DATA", tempfile.mkdtemp(prefix="sightglass-bench-"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    _fill(num_requests)
    print(f"{connection.vendor}: {num_requests:,} requests of {_DAYS} days")
    for name, ask in _questions().items():
        samples = [_ms(ask) for _ in range(_ROUNDS + 1)][1:]
        low, middle, high = statistics.quantiles(samples, n=4)
        print(f"{name:42} {middle:7.0f} ms ({low:.0f} to {high:.0f})")
    _time_recording()


def _ms(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1000


def _fill(num_requests: int) -> None:
    from django.contrib.auth.models import User

    from webapp.usage.models import UsageRecord
    from webapp.usage.roll_up import recount

    if UsageRecord.objects.exists():
        return
    User.objects.bulk_create(User(username=f"user-{number}") for number in range(_NUM_USERS))
    users = list(User.objects.values_list("pk", flat=True))
    random, batch, start = Random(1), list[UsageRecord](), time.perf_counter()
    for number in range(min(num_requests, _MADE)):
        batch.append(_record(random, number, users))
        if len(batch) == 10_000:
            UsageRecord.objects.bulk_create(batch, batch_size=1_000)
            batch.clear()
    UsageRecord.objects.bulk_create(batch, batch_size=1_000)
    for copy in range(1, num_requests // _MADE):
        _copy(copy)
    print(f"filled in {time.perf_counter() - start:.0f} s", flush=True)
    print(f"recount: {_ms(recount) / 1000:.0f} s", flush=True)


def _copy(number: int) -> None:
    """Add each made record once more under another name."""
    from django.db import connection

    from webapp.usage.models import UsageRecord

    columns = [field.column for field in UsageRecord._meta.concrete_fields if not field.primary_key]
    given = [f"request_id || '.{number}'" if column == "request_id" else column for column in columns]
    table = UsageRecord._meta.db_table
    insert = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(given)} FROM {table}"
    with connection.cursor() as cursor:
        cursor.execute(f"{insert} WHERE request_id NOT LIKE '%.%'")


def _record(random: Random, number: int, users: list[int]) -> Any:
    from webapp.usage.models import UsageRecord

    first = datetime(_LAST.year, _LAST.month, _LAST.day, tzinfo=UTC) - timedelta(days=_DAYS - 1)
    at = first + timedelta(days=random.randrange(_DAYS), hours=min(23.99, max(0, random.gauss(13, 4))))
    first_token = round(random.lognormvariate(12, 0.6))
    return UsageRecord(
        request_id=f"bench-{number}",
        user_id=users[min(len(users) - 1, int(random.expovariate(0.03)))],
        surface=random.choice(["chat", "chat", "chat", "replay"]),
        model=random.choice(["small", "small", "large", "embedded"]),
        status=random.choices(["done", "failed", "stopped", "blocked"], [96, 1, 2, 1])[0],
        verdict=random.choices(["allow", "flag"], [98, 2])[0],
        accepted_at=at,
        is_cache_known=True,
        price_version="2026-01-01",
        currency="USD",
        uncached_input=random.randrange(2_000),
        cache_read=random.randrange(4_000),
        output=random.randrange(800),
        cost_nano=random.randrange(10**7),
        saved_nano=random.randrange(10**6),
        queue_us=round(random.lognormvariate(8, 1)),
        first_token_us=first_token,
        first_text_us=first_token + 3_000,
        per_token_us=round(random.lognormvariate(9, 0.3)),
        duration_us=first_token + round(random.lognormvariate(14, 0.7)),
    )


def _questions() -> dict[str, Callable[[], Any]]:
    from django.contrib.auth.models import User

    from webapp.usage.metrics.families import families
    from webapp.usage.period import Period
    from webapp.usage.report import Names, report
    from webapp.usage.sums import Filter
    from webapp.usage.totals import all_use

    names, zone = Names(dict(User.objects.values_list("pk", "username")), {}), ZoneInfo("Europe/Berlin")
    busiest = User.objects.order_by("pk").values_list("pk", flat=True)[0]

    def ask(num_days: int, by: Any = "model", **chosen: Any) -> Callable[[], Any]:
        period = Period(_LAST - timedelta(days=num_days - 1), _LAST, zone)
        return lambda: report(period, Filter(**chosen), by, names)

    return {
        "a scrape's projection of all time": lambda: list(families(all_use())),
        "one day by the hour": ask(1),
        "30 days by model": ask(30),
        "30 days by user": ask(30, "user"),
        "35 days by user": ask(35, "user"),
        "90 days by model": ask(90),
        "a year by user": ask(365, "user"),
        "30 days of the busiest user": ask(30, user_ids=(busiest,)),
        "a year of one model": ask(365, model="large"),
    }


def _time_recording() -> None:
    """Time what a settlement pays: the record and its sums, in a transaction that writes one row anyway."""
    from django.contrib.auth.models import User
    from django.db import transaction

    from webapp.usage.roll_up import add

    users = list(User.objects.values_list("pk", flat=True))
    random = Random(2)
    records: Iterator[Any] = (_record(random, 10**9 + number, users) for number in range(2 * _RECORDED))
    one_user = User.objects.get(pk=users[0])

    def settle(record: Any | None) -> None:
        with transaction.atomic():
            one_user.save(update_fields=["first_name"])
            if record is not None:
                record.save(force_insert=True)
                add(record)

    with_record, without = [], []
    for _ in range(_RECORDED):
        record = next(records)
        with_record.append(_ms(lambda record=record: settle(record)))  # type: ignore[misc]
        without.append(_ms(lambda: settle(None)))
    paid = statistics.median(with_record) - statistics.median(without)
    print(f"{'recording one request':42} {paid:7.2f} ms more than {statistics.median(without):.2f} ms")


if __name__ == "__main__":
    main()
