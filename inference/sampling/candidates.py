"""The logits processors that choose among candidates, and the draw. Knows nothing of the logits' origin.

Each processor leaves a run of the candidate order, given by two numbers. Only the first candidates are sorted. A
processor that needs one beyond them raises BeyondSorted and is repeated with more. As the cumulative sum runs from the
first candidate on, no result depends on the number of sorted candidates.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from math import log

import numpy as np

from inference.protocol.events import ProcessorEffect, ProcessorName
from inference.protocol.request import SamplingParams
from inference.sampling.vocabulary import Summary


class BeyondSorted(Exception):
    """A cut or the draw lies beyond the sorted candidates."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen candidate and its interval of the cumulative final distribution."""

    index: int
    low: float
    high: float


class Candidates:
    """The candidates at a temperature, of which each processor leaves a run."""

    def __init__(self, summary: Summary, temperature: float) -> None:
        self._summary = summary
        self._scaled = summary.logits / np.float64(temperature)
        self._cumulative = np.cumsum(np.exp(self._scaled - summary.scaled_log_normalizer))
        self._first = 0
        self._end = summary.num_candidates
        self._mass = 1.0
        """The run's share of the probability of all candidates at the temperature."""
        self.effects: list[ProcessorEffect] = []
        if temperature != 1:
            self._record("temperature", 1.0)

    def cut(self, params: SamplingParams) -> None:
        """Apply the enabled processors in their order. Raises BeyondSorted."""
        if 0 < params.top_k < self._end:
            self._keep("top_k", 0, params.top_k)
        if params.top_p < 1:
            self._keep("top_p", 0, self._reach(params.top_p))
        if params.min_p > 0:
            self._keep("min_p", 0, self._above(params.min_p))
        if params.typical_p < 1:
            self._keep("typical_p", *self._typical(params.typical_p))

    def draw(self, u: float) -> Choice:
        """Return the candidate whose interval holds u. Raises BeyondSorted."""
        bounds = self._cumulative[self._first : self._end]
        if self._mass != 1:
            bounds = (bounds - self._base) / self._mass
        index = bisect_right(bounds, u)
        if index == len(bounds):
            self._check_sorted(self._first + index + 1)
            index -= 1  # rounding left the last bound a hair below 1
        low = float(bounds[index - 1]) if index else 0.0
        is_last = self._first + index == self._end - 1
        return Choice(self._first + index, low, 1.0 if is_last else float(bounds[index]))

    @property
    def _base(self) -> float:
        """Return the cumulative probability before the run."""
        return float(self._cumulative[self._first - 1]) if self._first else 0.0

    @property
    def _log_normalizer(self) -> float:
        return self._summary.scaled_log_normalizer + log(self._mass)

    def _reach(self, share: float) -> int:
        """Return the number of candidates whose probability together reaches the share."""
        return min(bisect_left(self._cumulative, share * self._mass, 0, self._num_known) + 1, self._end)

    def _above(self, share: float) -> int:
        """Return the number of candidates with at least this share of the first one's probability."""
        bound = self._scaled[0] + log(share)
        num_above = int(np.count_nonzero(self._scaled[: self._num_known] >= bound))
        self._check_sorted(num_above + 1)  # if this one is not above, no later one is
        return num_above

    def _typical(self, share: float) -> tuple[int, int]:
        """Return the run with surprise nearest to the entropy (locally typical sampling, arXiv 2202.00666)."""
        surprise = self._log_normalizer - self._scaled[: self._num_known]
        distance = np.abs(surprise - self._entropy())
        # Among equals on one side, the one nearer to the entropy's place comes first, so that no gap is left.
        place = np.abs(np.arange(len(surprise)) - (np.searchsorted(surprise, self._entropy()) - 0.5))
        order = np.lexsort((place, distance))
        masses = np.cumsum(np.exp(-surprise[order]))
        survivors = order[: bisect_left(masses, share) + 1]
        end = int(survivors.max()) + 1
        self._check_sorted(end + 1)  # if one does not survive, no later one does
        return int(survivors.min()), end

    def _entropy(self) -> float:
        if self._mass == 1:
            return self._summary.scaled_entropy
        surprise = self._log_normalizer - self._scaled[: self._end]
        return float((np.exp(-surprise) * surprise).sum())

    @property
    def _num_known(self) -> int:
        """Return the number of sorted candidates that are left."""
        return min(self._end, len(self._scaled))

    def _check_sorted(self, end: int) -> None:
        if min(end, self._end) > len(self._scaled):
            raise BeyondSorted

    def _keep(self, name: ProcessorName, first: int, end: int) -> None:
        self._check_sorted(end)
        before = self._mass
        self._first, self._end = first, end
        self._mass = float(self._cumulative[end - 1]) - self._base
        self._record(name, self._mass / before)

    def _record(self, name: ProcessorName, mass: float) -> None:
        effect = ProcessorEffect(
            name=name,
            num_candidates=self._end - self._first,
            mass=min(mass, 1.0),
            log_normalizer=self._log_normalizer,
            first=self._first,
        )
        self.effects.append(effect)
