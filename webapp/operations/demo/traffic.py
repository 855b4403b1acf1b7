"""The demonstration's traffic: records of two months, resampled from recorded requests of the bundled model.

Every record has its time, team and kind of day. Knows nothing of traces, and saves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any

from django.contrib.auth.models import User

from webapp.identifiers import new_request_id
from webapp.models.billing.bill import KINDS
from webapp.operations.demo.prices import CURRENCY, FROM, LARGE, PREFIX, PRICES, SMALL
from webapp.operations.demo.recorded_conversations import Kind
from webapp.usage.models import UsageRecord

_RECORDED = Path(__file__).with_name("recorded_traffic.json")
_BY_HOUR = (1, 1, 0, 0, 0, 1, 2, 6, 14, 20, 22, 20, 15, 18, 22, 21, 19, 14, 9, 6, 5, 4, 3, 2)
"""Relative traffic of each hour of the day in UTC."""
_WEEKEND = 0.2
_INCIDENT_HOUR = 15
_SPIKE_WEEKDAY = 1
_SPIKE_REQUESTS = 420


@dataclass(frozen=True)
class Team:
    """Users of one group, and how they use the service."""

    name: str
    num_users: int
    per_day: int
    """Requests of a working day."""
    large: float
    """Share of requests to the large model."""
    growth: float = 1.0
    """Factor of the prompts' length from the first day to the last."""


TEAMS = (
    Team("demo-research", 4, 90, 0.6, growth=2.4),
    Team("demo-support", 5, 200, 0.15),
    Team("demo-docs", 3, 70, 0.3),
    Team("demo-evaluation", 1, 25, 0.9),
)


@dataclass(frozen=True)
class Occurrence:
    """A resampled request, and the kind of conversation that a recording of it would be."""

    record: UsageRecord
    kind: Kind


def traffic(random: Random, teams: list[tuple[Team, list[User]]], days: list[date]) -> Iterator[Occurrence]:
    """The requests of these days, team by team."""
    recorded = _recorded()
    incident, spike = days[-2], next(day for day in reversed(days[:-7]) if day.weekday() == _SPIKE_WEEKDAY)
    for number, day in enumerate(days):
        for team, users in teams:
            usual = team.per_day * (_WEEKEND if day.weekday() >= 5 else 1)
            growth = team.growth ** (number / len(days))
            for _ in range(round(usual * random.uniform(0.8, 1.2))):
                row = _grown(random.choice(recorded), growth)
                record = _record(random, team, random.choice(users), _moment(random, day), row, incident)
                yield Occurrence(record, _kind(record, incident, "usual"))
        if day == spike:
            team, users = teams[-1]
            for _ in range(_SPIKE_REQUESTS):
                row = _uncached(random.choice(recorded))
                record = _record(random, team, users[0], _moment(random, day, first=9, last=13), row, incident)
                yield Occurrence(record, _kind(record, incident, "uncached"))


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


def _record(random: Random, team: Team, user: User, at: datetime, row: dict[str, Any], incident: date) -> UsageRecord:
    model = LARGE if random.random() < team.large else SMALL
    prices = PRICES[model]
    record = UsageRecord(
        request_id=new_request_id(),
        user=user,
        surface=random.choices(["chat", "replay"], [19, 1])[0],
        model=model,
        accepted_at=at,
        is_cache_known=True,
        currency=CURRENCY,
        price_version=FROM.isoformat(),
        queue_us=round(random.lognormvariate(8.5, 0.7)),
        worker=f"{PREFIX}worker-{random.randint(1, 2)}",
        num_attempts=1,
        is_demo=True,
        input_verdict=row["verdict"],
        **row,
    )
    record.cost_nano = sum(getattr(record, kind) * prices[kind] for kind in KINDS)
    record.saved_nano = record.cache_read * (prices["uncached_input"] - prices["cache_read"])
    if _is_incident(record, incident):
        _slow(random, record)
    elif random.random() < 0.012:
        _block(record)
    return record


def _is_incident(record: UsageRecord, incident: date) -> bool:
    return record.accepted_at.date() == incident and record.accepted_at.hour == _INCIDENT_HOUR


def _kind(record: UsageRecord, incident: date, otherwise: Kind) -> Kind:
    if _is_incident(record, incident):
        return "lost" if record.status == "failed" else "waited"
    return "blocked" if record.status == "blocked" else otherwise


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
