"""Computes a scheduled step: from the model's logits to the first token of each share. Changes no sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inference.engine.drafting.step_costs import StepCosts
from inference.engine.memory_errors import MemoryErrors, is_out_of_memory
from inference.engine.model_runner import ModelRunner
from inference.engine.reading_times import ReadingTimes
from inference.engine.scheduling.step import Scheduled, Step
from inference.engine.slot import Row, Slot, Slots
from inference.sampling.sampler import NUM_SORTED, Sample
from inference.sampling.vocabulary import Summarise


class Results(NamedTuple):
    """The result of one share of a step."""

    share: Scheduled
    rows: list[Row]
    """One per row of logits."""
    first: Sample | Exception | None
    """The token sampled from the first row, or the reason why there is none. None: there are no rows."""


@dataclass(frozen=True)
class StepComputer:
    """Runs the model over steps and learns their cost."""

    runner: ModelRunner
    slots: Slots
    summarise: Summarise
    memory_errors: MemoryErrors
    costs: StepCosts
    times: ReadingTimes
    now_ns: Callable[[], int]

    def run(self, step: Step) -> list[Results]:
        """Return each share's result, up to its first token; nothing when memory ran out and a smaller step may fit."""
        self.runner.copy(step.copies)
        start = self.now_ns()
        try:
            rows = self._read_rows(step.shares, self.runner.run(step.shares))
            us = (self.now_ns() - start) / 1000
            # Sample before any sequence advances, so that the step can be tried again.
            results = [_first(self.slots.of(share.sequence), share, rows) for share in step.shares]
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            self.memory_errors.give_way(step, error)
            return []
        self._learn(step, us)
        self.memory_errors.passed()
        return results

    def _read_rows(self, shares: list[Scheduled], logits: NDArray[np.float32]) -> Iterator[Row]:
        """Yield the rows. All summaries are made at once, which takes less time than one by one."""
        samplers = [(self.slots.of(share.sequence).sampler, share.num_logits) for share in shares]
        temperatures = [sampler.summary_temperature for sampler, num_logits in samplers for _ in range(num_logits)]
        return map(Row, logits, self.summarise(logits, temperatures, NUM_SORTED) if temperatures else [])

    def _learn(self, step: Step, us: float) -> None:
        """Record the step's costs; the caller must not have advanced the sequences yet."""
        if not step.num_prefill_tokens:
            self.costs.add_decode(step.num_rows, us)
        for copy in step.copies:
            self.times.copied(copy.source, copy.target)
        for share in step.shares:
            sequence = share.sequence
            table, start = sequence.block_table, sequence.num_computed_tokens
            if sequence.is_prefilling:
                self.times.read(table, start, share.num_tokens, us / step.num_rows)
            else:
                self.times.generated(table, start, share.num_rows)


def _first(slot: Slot, share: Scheduled, all_rows: Iterator[Row]) -> Results:
    """Take the share's rows from all rows. Raises the error that says that memory ran out."""
    rows = list(islice(all_rows, share.num_logits))
    first = slot.sample(rows[0]) if rows else None
    if isinstance(first, Exception) and is_out_of_memory(first):
        raise first
    return Results(share, rows, first)
