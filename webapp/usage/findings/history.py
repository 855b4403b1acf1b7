"""The sums that the detectors look at: days, hours and workers, each with what came before. Pure values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from zoneinfo import ZoneInfo

from webapp.usage.findings.usual import Baseline, baseline


@dataclass(frozen=True)
class Use:
    """Sums of some requests."""

    num_requests: int = 0
    cost: Mapping[str, int] = field(default_factory=dict)
    """Billionths of each currency's unit."""
    input: int = 0
    cached: int = 0
    known_input: int = 0
    """Part of the input for which the use of the cache is known."""
    output: int = 0

    @property
    def cached_share(self) -> float:
        return self.cached / self.known_input if self.known_input else 0.0


def joined(uses: Iterable[Use]) -> Use:
    """Return the sum."""
    found, cost = list(uses), dict[str, int]()
    for each in found:
        for currency, nano in each.cost.items():
            cost[currency] = cost.get(currency, 0) + nano
    return Use(
        sum(each.num_requests for each in found),
        cost,
        sum(each.input for each in found),
        sum(each.cached for each in found),
        sum(each.known_input for each in found),
        sum(each.output for each in found),
    )


@dataclass(frozen=True)
class Hour:
    """Speed of the requests that arrived in one hour. Times are in µs."""

    start: datetime
    num_requests: int
    first_token_low: float
    """Three in four requests waited longer for their first token."""
    first_token: float
    """Median."""
    queue: float
    """Median."""


@dataclass(frozen=True)
class WorkerDay:
    """Speed of one worker with one model on one day."""

    day: int
    worker: str
    model: str
    num_requests: int
    per_token: float
    """Mean time per output token in µs."""


@dataclass(frozen=True)
class History:
    """A period with the days before it. A series has one value per day."""

    zone: ZoneInfo
    starts: tuple[datetime, ...]
    """The instant at which each day begins."""
    end: datetime
    num_before: int
    """The first so many days lie before the period. They only tell what is usual."""
    users: Mapping[int, Sequence[Use]] = field(default_factory=dict)
    models: Mapping[str, Sequence[Use]] = field(default_factory=dict)
    causes: Mapping[tuple[str, str], Sequence[int]] = field(default_factory=dict)
    """Requests without an answer, by status and cause."""
    hours: Sequence[Hour] = ()
    """Hours with requests, in order."""
    workers: Sequence[WorkerDay] = ()

    @cached_property
    def whole(self) -> list[Use]:
        """All requests of each day."""
        return [joined(series[day] for series in self.models.values()) for day in range(len(self.starts))]

    @property
    def days(self) -> range:
        """The days of the period."""
        return range(self.num_before, len(self.starts))

    @cached_property
    def first_used(self) -> int:
        """The first day with a request: earlier days tell nothing."""
        days = (day for day, use in enumerate(self.whole) if use.num_requests)
        return next(days, len(self.starts))

    @property
    def num_known(self) -> int:
        """Days before the period that tell what is usual."""
        return max(0, self.num_before - self.first_used)

    def baseline(self, day: int) -> Baseline | None:
        return baseline(day, self.first_used)

    def span(self, first: int, last: int) -> Span:
        return Span(self.starts[first], (*self.starts, self.end)[last + 1])

    def date(self, day: int) -> date:
        return self.starts[day].astimezone(self.zone).date()

    @property
    def currencies(self) -> list[str]:
        return sorted({currency for use in self.whole for currency in use.cost})


@dataclass(frozen=True)
class Span:
    """From an instant up to another."""

    start: datetime
    end: datetime
