"""The sums of all time, for counters that only grow. Knows nothing of their names outside.

They are read from the sums of days, so that they survive every restart and hold for any number of processes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import Min, Sum

from webapp.usage.models import DEMO_MODELS, SUMMED, SpeedSketch, UsageSum
from webapp.usage.sketch import merge
from webapp.usage.sums import Totals


class Kind(NamedTuple):
    """The model that was asked, and the surface by which."""

    model: str
    surface: str


class Ending(NamedTuple):
    """How requests ended."""

    status: str
    error_code: str
    verdict: str
    currency: str


class Total(NamedTuple):
    """Sums of all requests of a kind that ended alike."""

    kind: Kind
    ending: Ending
    sums: Totals


@dataclass(frozen=True)
class Use:
    """All use, without demonstration data: its models have names of their own."""

    since: datetime | None
    """The first day; None: there is no use."""
    totals: list[Total]
    sketches: dict[Kind, bytes]


def all_use() -> Use:
    """Read the use of all time."""
    days = UsageSum.objects.filter(span="day").exclude(model__in=DEMO_MODELS).order_by()
    rows = days.values_list(*UsageSum.GROUPED).annotate(**{f"sum_{name}": Sum(name) for name in SUMMED})
    sketches = defaultdict[Kind, list[bytes]](list)
    found = SpeedSketch.objects.filter(span="day").exclude(model__in=DEMO_MODELS).order_by()
    for model, surface, each in found.values_list("model", "surface", "sketch"):
        sketches[Kind(model, surface)].append(bytes(each))
    totals = sorted(Total(Kind(*row[:2]), Ending(*row[2:6]), Totals(*map(int, row[6:]))) for row in rows)
    return Use(
        days.aggregate(since=Min("start"))["since"], totals, {kind: merge(sketches[kind]) for kind in sorted(sketches)}
    )
