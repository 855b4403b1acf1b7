"""The rows of the table, and what a trial found for one of them. Knows nothing of processes."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Verdict(StrEnum):
    """How a row ended."""

    KEPT = "kept"
    NOT_KEPT = "not kept"
    NOT_PROVEN = "not proven here"


@dataclass(frozen=True)
class Row:
    """A promise, how it is proven, and the figure to reach."""

    key: str
    part: int
    promise: str
    proof: str
    aim: str
    reason: str = ""
    """Why a machine of two cores may not keep it."""


@dataclass(frozen=True)
class Measured:
    """What was found for one row. why: the reason of a row that is not kept or not proven."""

    row: str
    figure: str
    verdict: Verdict
    why: str = ""


def judged(row: str, figure: str, problems: Sequence[str]) -> Measured:
    """Kept where there is no problem. The first three kinds of problems are named, unless the figure has them."""
    if not problems:
        return Measured(row, figure, Verdict.KEPT)
    kinds = [f"{num} times: {each}" if num > 1 else each for each, num in Counter(problems).items()]
    told = [each for each in kinds if each not in figure]
    more = f" and {len(told) - 3} more" if len(told) > 3 else ""
    return Measured(row, figure, Verdict.NOT_KEPT, "; ".join(told[:3]) + more)


def unproven(row: str, figure: str, why: str) -> Measured:
    return Measured(row, figure, Verdict.NOT_PROVEN, why)


@dataclass(frozen=True)
class Setting:
    """What a trial may use: its draws, a folder of its own, and the time (monotonic) at which it has to end."""

    seed: int
    folder: Path
    deadline: float

    @property
    def draws(self) -> random.Random:
        return random.Random(self.seed)

    def has_time(self) -> bool:
        return time.monotonic() < self.deadline


@dataclass(frozen=True)
class Trial:
    """One bounded run, which proves one row or several."""

    name: str
    rows: tuple[str, ...]
    minutes: float
    """The most that it takes."""
    run: Callable[[Setting], list[Measured]]


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]


def worst_of(values: Mapping[str, float]) -> str:
    """The longest time in words, with its name."""
    if not values:
        return "none measured"
    name = max(values, key=lambda name: values[name])
    return f"{values[name]:.1f} s at worst ({name})"
