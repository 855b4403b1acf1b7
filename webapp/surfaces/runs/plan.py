"""Expands a grid of settings into each run's parameters. Plain values in, plain values out."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import msgspec

from inference.protocol.request import SamplingParams

MAX_RUNS = 64
"""Limit for one set."""
_NUM_SEEDS = 2**53
"""JavaScript holds integers up to this exactly."""


class Grid(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The values of each setting; every combination is run."""

    temperature: tuple[float, ...] = ()
    top_p: tuple[float, ...] = ()
    top_k: tuple[int, ...] = ()
    min_p: tuple[float, ...] = ()
    typical_p: tuple[float, ...] = ()
    repetition_penalty: tuple[float, ...] = ()
    frequency_penalty: tuple[float, ...] = ()
    presence_penalty: tuple[float, ...] = ()
    dry_multiplier: tuple[float, ...] = ()
    dry_base: tuple[float, ...] = ()
    dry_allowed_length: tuple[int, ...] = ()
    max_tokens: tuple[int, ...] = ()

    def axes(self) -> dict[str, tuple[float, ...]]:
        """The settings that vary, in the order of the fields."""
        return {name: values for name, values in msgspec.structs.asdict(self).items() if values}


class PlanError(ValueError):
    """The plan is invalid; `field` names the request's field."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class PlannedRun:
    """The grid's settings for a run, and all its parameters."""

    settings: dict[str, float]
    params: SamplingParams


def plan(
    params: SamplingParams, grid: Grid, n: int, is_fresh: bool, draw: Callable[[], int] | None = None
) -> list[Any]:
    """Return n runs of each combination, the runs of one combination in a row. Raises PlanError.

    Fresh seeds are drawn once and used in every combination (common random numbers). So a difference between two
    combinations comes from the settings alone.
    """
    cells = list(_cells(grid, n))
    draw = draw or (lambda: secrets.randbelow(_NUM_SEEDS))
    seeds: Sequence[int | None] = [draw() for _ in range(n)] if is_fresh else [params.seed] * n
    return [
        PlannedRun(settings, msgspec.structs.replace(params, **settings, seed=seed))
        for settings in cells
        for seed in seeds
    ]


def _cells(grid: Grid, n: int) -> Iterator[dict[str, float]]:
    axes = grid.axes()
    num_runs = n
    for name, values in axes.items():
        if len(set(values)) < len(values):
            raise PlanError(f"grid.{name}", f"{name} has a value twice; give each once.")
        num_runs *= len(values)
    if not 1 <= n <= MAX_RUNS:
        raise PlanError("n", f"n must be between 1 and {MAX_RUNS}.")
    if num_runs > MAX_RUNS:
        message = f"This would be {num_runs:,} runs; the limit is {MAX_RUNS}. Give fewer values or a lower n."
        raise PlanError("grid", message)
    for combination in product(*axes.values()):
        yield dict(zip(axes, combination, strict=True))
