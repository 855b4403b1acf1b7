"""A period of days in a time zone, cut into the hours, days or months of a chart. Pure: dates in, instants out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

Unit = Literal["hour", "day", "month"]

MAX_DAYS = 3660
"""Ten years."""
_MAX_HOURLY_DAYS = 3
_MAX_LOCAL_DAYS = 35
"""A longer period is counted in days of UTC, whose sums are kept: 200 times fewer rows than the hours' sums."""
_MAX_DAILY_DAYS = 92


class BadPeriod(Exception):
    """The period holds no day, or too many."""


@dataclass(frozen=True)
class Period:
    """Days from `first` to `last`, both included."""

    first: date
    last: date
    zone: ZoneInfo

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise BadPeriod(f"The period ends on {self.last}, before it begins on {self.first}. Swap the days.")
        if self.num_days > MAX_DAYS:
            raise BadPeriod(f"The period has {self.num_days:,} days; the limit is {MAX_DAYS:,}. Choose a shorter one.")
        if self.first.year < 1970 or self.last.year > 9000:
            raise BadPeriod("Choose days from the year 1970 to the year 9000.")

    @property
    def num_days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def unit(self) -> Unit:
        if self.num_days <= _MAX_HOURLY_DAYS:
            return "hour"
        return "day" if self.num_days <= _MAX_DAILY_DAYS else "month"

    @property
    def is_in_utc_days(self) -> bool:
        """True if its sums are those of days in UTC."""
        return self.num_days > _MAX_LOCAL_DAYS

    @property
    def span(self) -> Literal["hour", "day"]:
        """The span of the sums that it is read from."""
        return "day" if self.is_in_utc_days else "hour"

    @property
    def counted_in(self) -> ZoneInfo:
        """The zone whose midnights begin the days."""
        return ZoneInfo("UTC") if self.is_in_utc_days else self.zone

    @property
    def start(self) -> datetime:
        return _midnight(self.first, self.counted_in)

    @property
    def end(self) -> datetime:
        return _midnight(self.last + timedelta(days=1), self.counted_in)

    def starts(self) -> list[datetime]:
        """The instant at which each hour, day or month of the chart begins, in UTC."""
        if self.unit == "hour":
            # Across a change of the clock this has 23 or 25 hours.
            num_hours = round((self.end - self.start) / timedelta(hours=1))
            return [self.start + timedelta(hours=hour) for hour in range(num_hours)]
        days = (self.first + timedelta(days=number) for number in range(self.num_days))
        return [
            _midnight(day, self.counted_in) for day in days if self.unit == "day" or day in (self.first, _first(day))
        ]

    def before(self) -> Period:
        """The period of as many days that ends where this one begins. Raises BadPeriod."""
        return Period(self.first - timedelta(days=self.num_days), self.first - timedelta(days=1), self.zone)


def _first(day: date) -> date:
    """First day of the day's month."""
    return day.replace(day=1)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    """The day's first full hour of UTC. Sums are kept by these hours, and some zones' midnight lies between two."""
    instant = datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
    whole = instant.replace(minute=0, second=0, microsecond=0)
    return whole if whole == instant else whole + timedelta(hours=1)
