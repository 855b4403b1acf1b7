"""A period is cut into hours, days or months that follow each other and fill it, in any zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.usage.period import BadPeriod, Period

BERLIN, KOLKATA, UTC_ZONE = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata"), ZoneInfo("UTC")
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"])
DAYS = st.dates(date(1990, 1, 1), date(2100, 1, 1))


@given(DAYS, st.integers(1, 3660), ZONES.map(ZoneInfo))
def test_the_parts_follow_each_other_from_start_to_end(first: date, num_days: int, zone: ZoneInfo) -> None:
    period = Period(first, first + timedelta(days=num_days - 1), zone)
    starts = [*period.starts(), period.end]
    assert starts[0] == period.start
    assert all(before < after for before, after in pairwise(starts))
    assert all((start.minute, start.second) == (0, 0) and start.tzinfo == UTC for start in starts)
    assert len(starts) <= 124
    assert period.before().end <= period.start < period.end
    assert period.before().num_days == num_days


def test_a_day_on_which_the_clock_changes_has_23_or_25_hours() -> None:
    spring, autumn = date(2026, 3, 29), date(2026, 10, 25)
    assert len(Period(spring, spring, BERLIN).starts()) == 23
    assert len(Period(autumn, autumn, BERLIN).starts()) == 25
    month = Period(date(2026, 3, 1), date(2026, 3, 31), BERLIN)
    assert len(month.starts()) == 31
    assert month.starts()[28:30] == [datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 29, 22, tzinfo=UTC)]


def test_a_midnight_between_two_hours_is_the_next_full_hour() -> None:
    day = date(2026, 11, 1)
    assert Period(day, day, KOLKATA).start == datetime(2026, 10, 31, 19, tzinfo=UTC)


def test_a_long_period_is_counted_in_days_and_months_of_utc() -> None:
    assert Period(date(2026, 1, 1), date(2026, 2, 4), BERLIN).counted_in == BERLIN
    days = Period(date(2026, 1, 1), date(2026, 2, 5), BERLIN)
    assert (days.unit, days.counted_in) == ("day", UTC_ZONE)
    months = Period(date(2025, 12, 24), date(2026, 11, 22), BERLIN)
    assert (months.unit, len(months.starts())) == ("month", 12)
    assert months.starts()[:2] == [datetime(2025, 12, 24, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("first", "last"), [("2026-01-02", "2026-01-01"), ("2010-01-01", "2026-01-01"), ("0002-01-01", "0002-01-02")]
)
def test_a_period_of_no_days_or_too_many_is_refused(first: str, last: str) -> None:
    with pytest.raises(BadPeriod, match=r"Swap the days|Choose"):
        Period(date.fromisoformat(first), date.fromisoformat(last), UTC_ZONE)
