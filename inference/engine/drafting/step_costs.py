"""The cost of the model's decode steps, learnt from steps that ran. Knows nothing of models or clocks.

The operating system may interrupt a step: its duration is the step's cost or sometimes far more, never less. So the
cost is the lower edge of the durations seen, which no slow step can raise. The edge has the least of the last durations
of each number of rows, and between these their lower convex hull. In this picture r is a duration, + an interrupted
one, and the line through the corners the hull:

    us |          +
       |   +             r
       |   r      r .....·
       |   r.....·
       +------------------- rows
           1      5      9

Only a step's usual time on this machine, which a draft can save, is a median.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import pairwise
from statistics import median
from typing import NamedTuple

_NUM_RECENT = 16
"""Recent durations of each number of rows. The context that steps read grows, so old durations are too short."""
_MAX_AGE = 512
"""Decode steps after which a number of rows that did not occur again is forgotten."""
_MAX_PAUSE = 128
"""Decode steps after which a larger one should be measured again in any case: the cost changes."""
_LEAST_SEEN = 3
"""Durations needed to believe the first or the last corner, which no other corner can contradict."""
_AGREEMENT = 1.25
"""A second duration within this factor of the least one confirms it."""


class _Point(NamedTuple):
    rows: int
    us: float


@dataclass
class _Durations:
    """Durations of the steps with one number of rows."""

    last_seen: int = 0
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=_NUM_RECENT))


class StepCosts:
    """The lower edge of (rows, µs) of decode steps."""

    def __init__(self) -> None:
        self._num_decoded = 0
        self._durations: dict[int, _Durations] = {}
        """Durations by number of rows, the number seen last at the end."""
        self._hull: list[_Point] | None = None
        """The hull's corners from left to right. None: to be computed again."""

    def add_decode(self, num_rows: int, us: float) -> None:
        """Record a step of decoded tokens, drafts included, and nothing else."""
        durations = self._durations.pop(num_rows, _Durations())
        durations.recent.append(us)
        durations.last_seen = self._num_decoded = self._num_decoded + 1
        self._durations[num_rows] = durations
        while next(iter(self._durations.values())).last_seen <= self._num_decoded - _MAX_AGE:
            del self._durations[next(iter(self._durations))]
        self._hull = None

    @property
    def is_known(self) -> bool:
        """True: the cost of one more row is known."""
        return len(self._corners()) > 1

    def is_due(self, num_rows: int) -> bool:
        """Return whether a step of more than num_rows rows should be measured.

        The first few may all have been interrupted, so more follow, at growing intervals.
        """
        larger = [each for rows, each in self._durations.items() if rows > num_rows]
        num_seen, last = sum(len(each.recent) for each in larger), max((each.last_seen for each in larger), default=0)
        return not self.is_known or self._num_decoded - last >= min(2**num_seen, _MAX_PAUSE)

    def decode_us(self, num_rows: int) -> float | None:
        """Return the cost of a decode step of num_rows rows; None before the first few."""
        corners = self._corners()
        if len(corners) < 2:
            return corners[0].us if corners else None
        left, right = next((edge for edge in pairwise(corners) if num_rows <= edge[1].rows), corners[-2:])
        return left.us + (right.us - left.us) / (right.rows - left.rows) * (num_rows - left.rows)

    def usual_us(self, num_rows: int) -> float | None:
        """Return the usual time of such a step: more than its cost on a machine that interrupts most steps."""
        least, seen = self.decode_us(num_rows), self._durations.get(num_rows)
        return least if least is None or seen is None else max(least, median(seen.recent))

    def _corners(self) -> list[_Point]:
        if self._hull is None:
            self._hull = _lower_hull(self._points())
        return self._hull

    def _points(self) -> list[_Point]:
        """Return the confirmed points from left to right. A step takes no longer than one with more rows."""
        points: list[_Point] = []
        num_left, num_right = sum(len(each.recent) for each in self._durations.values()), 0
        least: list[float] = []
        for rows, durations in sorted(self._durations.items(), reverse=True):
            num_right += len(durations.recent)
            least = nsmallest(2, (*least, *durations.recent))
            is_confirmed = num_right >= _LEAST_SEEN and least[1] <= _AGREEMENT * least[0]
            if is_confirmed and num_left >= _LEAST_SEEN:
                points.append(_Point(rows, least[0]))
            num_left -= len(durations.recent)
        return points[::-1]


def _lower_hull(points: Iterable[_Point]) -> list[_Point]:
    """Return the lower hull of points from left to right (Andrew's monotone chain)."""
    hull: list[_Point] = []
    for point in points:
        while len(hull) > 1 and not _is_below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _is_below(start: _Point, corner: _Point, end: _Point) -> bool:
    """Return whether the corner lies below the line from start to end."""
    return (corner.us - start.us) * (end.rows - start.rows) < (end.us - start.us) * (corner.rows - start.rows)
