"""Demonstration data: two months of usage by invented users, resampled from recorded requests of the bundled model.

Every record is marked, so that one command removes them all. Knows nothing of traces: there are none behind these
records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction

from webapp.audit.log import unrecorded
from webapp.billing.bill import KINDS
from webapp.billing.models import Price
from webapp.identifiers import new_request_id
from webapp.usage.models import UsageRecord
from webapp.usage.roll_up import recount_day

_RECORDED = Path(__file__).with_name("recorded_traffic.json")
_SEED = 7
PREFIX = "demo-"
"""Begins the name of each user, group and model of the demonstration."""
_PRICES = {
    "demo-small": {
        "uncached_input": 150,
        "cache_read": 15,
        "cache_write_5m": 190,
        "cache_write_1h": 300,
        "output": 600,
    },
    "demo-large": {
        "uncached_input": 3000,
        "cache_read": 300,
        "cache_write_5m": 3750,
        "cache_write_1h": 6000,
        "output": 15000,
    },
}
"""Billionths of a dollar per token."""
MODELS = tuple(_PRICES)
"""Names of the demonstration's models."""
_BY_HOUR = (1, 1, 0, 0, 0, 1, 2, 6, 14, 20, 22, 20, 15, 18, 22, 21, 19, 14, 9, 6, 5, 4, 3, 2)
"""Relative traffic of each hour of the day in UTC."""
_WEEKEND = 0.2
_INCIDENT_HOUR = 15
_SPIKE_WEEKDAY = 1
_SPIKE_REQUESTS = 420


@dataclass(frozen=True)
class _Team:
    """Users of one group, and how they use the service."""

    name: str
    num_users: int
    per_day: int
    """Requests of a working day."""
    large: float
    """Share of requests to the large model."""
    growth: float = 1.0
    """Factor of the prompts' length from the first day to the last."""


_TEAMS = (
    _Team("demo-research", 4, 90, 0.6, growth=2.4),
    _Team("demo-support", 5, 200, 0.15),
    _Team("demo-docs", 3, 70, 0.3),
    _Team("demo-evaluation", 1, 25, 0.9),
)


def seed(now: datetime, num_days: int) -> int:
    """Write the records of the days up to now, after removing earlier ones. Returns their number."""
    random, last = Random(_SEED), now.astimezone(UTC).date()
    with transaction.atomic(), unrecorded():
        remove()
        teams = [(team, _users(team)) for team in _TEAMS]
        _set_prices(last - timedelta(days=num_days))
        days = [last - timedelta(days=number) for number in reversed(range(num_days))]
        records = [record for record in _records(random, teams, days) if record.accepted_at <= now]
        UsageRecord.objects.bulk_create(records, batch_size=500)
        _recount(records)
    return len(records)


def remove() -> int:
    """Remove all that `seed` has written. Returns the number of records."""
    with transaction.atomic(), unrecorded():
        records = list(UsageRecord.objects.filter(is_demo=True).only("accepted_at"))
        UsageRecord.objects.filter(is_demo=True).delete()
        _recount(records)
        Price.objects.filter(model__startswith=PREFIX).delete()
        User.objects.filter(groups__name__startswith=PREFIX, username__startswith=PREFIX).delete()
        Group.objects.filter(name__startswith=PREFIX).delete()
    return len(records)


def _recount(records: list[UsageRecord]) -> None:
    days = {record.accepted_at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) for record in records}
    for day in sorted(days):
        recount_day(day)


def _users(team: _Team) -> list[User]:
    group = Group.objects.create(name=team.name)
    names = [f"{team.name}-{number + 1}" for number in range(team.num_users)]
    users = [User.objects.create_user(name) for name in names]  # without a password
    for user in users:
        user.groups.add(group)
    return users


def _set_prices(first: date) -> None:
    Price.objects.bulk_create(
        Price(model=model, kind=kind, unit_price_nano=nano, effective_from=first)
        for model, prices in _PRICES.items()
        for kind, nano in prices.items()
    )


def _records(random: Random, teams: list[tuple[_Team, list[User]]], days: list[date]) -> Iterator[UsageRecord]:
    recorded = _recorded()
    incident, spike = days[-2], next(day for day in reversed(days[:-7]) if day.weekday() == _SPIKE_WEEKDAY)
    for number, day in enumerate(days):
        for team, users in teams:
            usual = team.per_day * (_WEEKEND if day.weekday() >= 5 else 1)
            growth = team.growth ** (number / len(days))
            for _ in range(round(usual * random.uniform(0.8, 1.2))):
                row = _grown(random.choice(recorded), growth)
                yield _record(random, team, random.choice(users), _moment(random, day), row, incident)
        if day == spike:
            team, users = teams[-1]
            for _ in range(_SPIKE_REQUESTS):
                row = _uncached(random.choice(recorded))
                yield _record(random, team, users[0], _moment(random, day, first=9, last=13), row, incident)


def _recorded() -> list[dict[str, Any]]:
    file = json.loads(_RECORDED.read_text("utf-8"))
    return [dict(zip(file["columns"], row, strict=True)) for row in file["rows"]]


def _grown(row: dict[str, Any], factor: float) -> dict[str, Any]:
    """A longer conversation: more of its input comes from the cache."""
    return row | {name: round(row[name] * factor) for name in ("uncached_input", "cache_read")}


def _uncached(row: dict[str, Any]) -> dict[str, Any]:
    """A prompt whose beginning changes with every request, so that no block of it is in the cache."""
    return row | {"uncached_input": 1200 + row["uncached_input"] + row["cache_read"], "cache_read": 0}


def _moment(random: Random, day: date, first: int = 0, last: int = 24) -> datetime:
    (hour,) = random.choices(range(first, last), _BY_HOUR[first:last])
    return datetime(day.year, day.month, day.day, hour, random.randrange(60), random.randrange(60), tzinfo=UTC)


def _record(random: Random, team: _Team, user: User, at: datetime, row: dict[str, Any], incident: date) -> UsageRecord:
    model = "demo-large" if random.random() < team.large else "demo-small"
    prices = _PRICES[model]
    record = UsageRecord(
        request_id=new_request_id(),
        user=user,
        surface=random.choices(["chat", "replay"], [19, 1])[0],
        model=model,
        accepted_at=at,
        is_cache_known=True,
        currency="USD",
        price_version="demonstration",
        queue_us=round(random.lognormvariate(8.5, 0.7)),
        worker=f"{PREFIX}worker-{random.randint(1, 2)}",
        num_attempts=1,
        is_demo=True,
        input_verdict=row["verdict"],
        **row,
    )
    record.cost_nano = sum(getattr(record, kind) * prices[kind] for kind in KINDS)
    record.saved_nano = record.cache_read * (prices["uncached_input"] - prices["cache_read"])
    if at.date() == incident and at.hour == _INCIDENT_HOUR:
        _slow(random, record)
    elif random.random() < 0.012:
        _block(record)
    return record


def _slow(random: Random, record: UsageRecord) -> None:
    """One of two workers was lost: requests waited for the other, and some failed."""
    record.worker = f"{PREFIX}worker-2"
    delay = round(random.uniform(2e6, 12e6))
    for name in ("queue_us", "first_token_us", "first_text_us", "duration_us"):
        setattr(record, name, getattr(record, name) + delay)
    if random.random() < 0.3:
        record.status, record.error_code, record.finish_reason = "failed", "worker_lost", ""


def _block(record: UsageRecord) -> None:
    """The safety check blocked the message: no token was used."""
    record.status, record.error_code, record.finish_reason = "blocked", "blocked", ""
    record.verdict = record.input_verdict = "block"
    record.worker, record.num_attempts, record.price_version, record.currency = "", 0, "", ""
    record.cost_nano = record.saved_nano = None
    for kind in KINDS:
        setattr(record, kind, 0)
    for name in ("queue_us", "first_token_us", "first_text_us", "per_token_us"):
        setattr(record, name, None)
