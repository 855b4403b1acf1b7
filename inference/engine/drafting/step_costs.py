"""What the model's decode steps cost, learnt from those that were run. Knows nothing of models or clocks.

The operating system may interrupt a step: its duration is what the step costs and sometimes far more, never less. So a
decode step's cost is read from the lower edge of what was seen, which no slow step can raise: of each number of rows
the least of its last durations, and between these their lower convex hull (with r for a duration, + for an interrupted
one, and the hull as the line through its corners):

    us |          +
       |   +             r
       |   r      r .....·
       |   r.....·
       +------------------- rows
           1      5      9

Only what a step mostly takes on this machine, which is what a draft can save, is a median.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import pairwise
from statistics import median
from typing import NamedTuple

_NUM_KEPT = 16
"""Durations kept of each number of rows: the context that steps read grows, and old ones are too short."""
_MAX_AGE = 512
"""Decode steps after which a number of rows that did not occur again is forgotten."""
_MAX_PAUSE = 128
"""Decode steps after which a larger one should be measured again, however many there were: their cost changes."""
_LEAST_SEEN = 3
"""Durations that it takes to believe the first or the last corner, on which no other casts doubt."""
_AGREEMENT = 1.25
"""So many times the least duration, another confirms it."""


class _Point(NamedTuple):
    rows: int
    us: float


@dataclass
class _Durations:
    """Of the steps with one number of rows."""

    last_seen: int = 0
    kept: deque[float] = field(default_factory=lambda: deque(maxlen=_NUM_KEPT))


class StepCosts:
    """Of decode steps: the lower edge of (rows, µs)."""

    def __init__(self) -> None:
        self._num_decoded = 0
        self._durations: dict[int, _Durations] = {}
        """By number of rows, the one seen last at the end."""
        self._hull: list[_Point] | None = None
        """Its corners from left to right; None when it is to be made anew."""

    def add_decode(self, num_rows: int, us: float) -> None:
        """A step of decoded tokens, drafts included, and nothing else."""
        durations = self._durations.pop(num_rows, _Durations())
        durations.kept.append(us)
        durations.last_seen = self._num_decoded = self._num_decoded + 1
        self._durations[num_rows] = durations
        while next(iter(self._durations.values())).last_seen <= self._num_decoded - _MAX_AGE:
            del self._durations[next(iter(self._durations))]
        self._hull = None

    @property
    def is_known(self) -> bool:
        """Whether it is known what one more row adds."""
        return len(self._corners()) > 1

    def is_due(self, num_rows: int) -> bool:
        """Whether a step larger than one of so many rows should be measured.

        The first few may all have been interrupted, so there are more, ever more seldom.
        """
        larger = [each for rows, each in self._durations.items() if rows > num_rows]
        num_seen, last = sum(len(each.kept) for each in larger), max((each.last_seen for each in larger), default=0)
        return not self.is_known or self._num_decoded - last >= min(2**num_seen, _MAX_PAUSE)

    def decode_us(self, num_rows: int) -> float | None:
        """A decode step of so many rows; None before the first few."""
        corners = self._corners()
        if len(corners) < 2:
            return corners[0].us if corners else None
        left, right = next((edge for edge in pairwise(corners) if num_rows <= edge[1].rows), corners[-2:])
        return left.us + (right.us - left.us) / (right.rows - left.rows) * (num_rows - left.rows)

    def usual_us(self, num_rows: int) -> float | None:
        """The same as it mostly is: more on a machine that interrupts most steps."""
        least, seen = self.decode_us(num_rows), self._durations.get(num_rows)
        return least if least is None or seen is None else max(least, median(seen.kept))

    def _corners(self) -> list[_Point]:
        if self._hull is None:
            self._hull = _lower_hull(self._points())
        return self._hull

    def _points(self) -> list[_Point]:
        """What is believed, from left to right. A step takes no longer than one with more rows."""
        points: list[_Point] = []
        num_left, num_right = sum(len(each.kept) for each in self._durations.values()), 0
        least: list[float] = []
        for rows, durations in sorted(self._durations.items(), reverse=True):
            num_right += len(durations.kept)
            least = nsmallest(2, (*least, *durations.kept))
            is_confirmed = num_right >= _LEAST_SEEN and least[1] <= _AGREEMENT * least[0]
            if is_confirmed and num_left >= _LEAST_SEEN:
                points.append(_Point(rows, least[0]))
            num_left -= len(durations.kept)
        return points[::-1]


def _lower_hull(points: Iterable[_Point]) -> list[_Point]:
    """Of points from left to right (Andrew's monotone chain)."""
    hull: list[_Point] = []
    for point in points:
        while len(hull) > 1 and not _is_below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _is_below(start: _Point, corner: _Point, end: _Point) -> bool:
    """Whether the corner lies below the line from start to end."""
    return (corner.us - start.us) * (end.rows - start.rows) < (end.us - start.us) * (corner.rows - start.rows)
