"""What the model's steps cost, learnt from those that were run. Knows nothing of models or clocks."""

from __future__ import annotations

_MEMORY = 0.97
"""Weight left to a step when the next is seen: what counts is the last 30 or so."""
_LEAST_VARIANCE = 0.05
"""Of rows per step: with less the slope would be noise, and is unknown."""


class StepCosts:
    """Prefill: µs per token. Decode: a line through (rows, µs), by least squares with forgetting."""

    def __init__(self) -> None:
        self._prefill_us = 0.0
        self._num_prefilled = 0.0
        self._weight = self._rows = self._us = self._rows_rows = self._rows_us = 0.0

    def add_prefill(self, num_tokens: int, us: float) -> None:
        """A step that did nothing else."""
        self._num_prefilled = _MEMORY * self._num_prefilled + num_tokens
        self._prefill_us = _MEMORY * self._prefill_us + us

    def add_decode(self, num_rows: int, us: float) -> None:
        """A step of decoded tokens, drafts included, and nothing else."""
        self._weight = _MEMORY * self._weight + 1
        self._rows = _MEMORY * self._rows + num_rows
        self._us = _MEMORY * self._us + us
        self._rows_rows = _MEMORY * self._rows_rows + num_rows * num_rows
        self._rows_us = _MEMORY * self._rows_us + num_rows * us

    @property
    def prefill_us_per_token(self) -> float | None:
        """None before the first prompt."""
        return self._prefill_us / self._num_prefilled if self._num_prefilled else None

    @property
    def us_per_row(self) -> float | None:
        """What one more row adds to a decode step; None while all steps had about as many."""
        if not self._weight:
            return None
        mean_rows, mean_us = self._rows / self._weight, self._us / self._weight
        variance = self._rows_rows / self._weight - mean_rows**2
        if variance < _LEAST_VARIANCE:
            return None
        return max(0.0, (self._rows_us / self._weight - mean_rows * mean_us) / variance)

    def decode_us(self, num_rows: int) -> float | None:
        """A decode step of so many rows; None before the first."""
        if not self._weight:
            return None
        return self._us / self._weight + (self.us_per_row or 0.0) * (num_rows - self._rows / self._weight)
