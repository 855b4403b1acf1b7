"""What is usual: robust statistics over the days before. Pure; knows nothing of usage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_SIGMA = 1.4826
"""The median absolute deviation times this is the standard deviation of normal values."""
_WEEKS = 5
_MIN_WEEKS = 3
_DAYS = 14
MIN_DAYS = 5
"""Fewer days tell nothing of what is usual."""


@dataclass(frozen=True)
class Usual:
    """The middle of some values, and how far they lie from it."""

    middle: float
    spread: float

    def is_above(self, value: float, ratio: float, sigmas: float) -> bool:
        """True if the value is larger by this ratio and by so many deviations."""
        return value > self.middle * ratio and value > self.middle + sigmas * self.spread


def usual(values: Sequence[float]) -> Usual:
    """Return median and deviation. Single outliers move neither."""
    middle = median(values)
    return Usual(middle, _SIGMA * median(abs(value - middle) for value in values))


@dataclass(frozen=True)
class Baseline:
    """The earlier days with which one day is compared."""

    days: tuple[int, ...]
    is_weekday: bool
    """True: the same weekday of the weeks before. False: the days just before."""


def baseline(day: int, first: int) -> Baseline | None:
    """Return the days to compare a day with; `first` is the first known day. None: too few are known."""
    weeks = tuple(day - 7 * number for number in range(1, _WEEKS + 1) if day - 7 * number >= first)
    if len(weeks) >= _MIN_WEEKS:
        return Baseline(weeks, is_weekday=True)
    days = tuple(range(max(first, day - _DAYS), day))
    return Baseline(days, is_weekday=False) if len(days) >= MIN_DAYS else None


def runs(days: Sequence[int]) -> list[tuple[int, int]]:
    """Join neighbouring days of an ascending list. Returns the first and the last day of each run."""
    found: list[tuple[int, int]] = []
    for day in days:
        if found and found[-1][1] == day - 1:
            found[-1] = (found[-1][0], day)
        else:
            found.append((day, day))
    return found


def rises(values: Sequence[float]) -> float:
    """Return Kendall's tau against time: 1 where each value is above those before, 0 without a trend."""
    pairs = [(later > early) - (later < early) for i, early in enumerate(values) for later in values[i + 1 :]]
    return sum(pairs) / len(pairs) if pairs else 0.0
