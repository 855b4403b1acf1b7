"""Recovers from a step that ran out of memory: halves it, or pauses. Knows nothing of tensors."""

from __future__ import annotations

import logging
import time

from inference.engine.scheduling.scheduler import Scheduler
from inference.engine.scheduling.step import Step

logger = logging.getLogger(__name__)

_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "cublas_status_alloc_failed")
"""Phrases in torch's errors, on a CPU and on a GPU."""
_TRIES, _PAUSE_S = 20, 0.05
"""Tries and pauses of a step of one token, while another process may give memory back. After the last it fails."""


def is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or any(text in str(error).lower() for text in _OUT_OF_MEMORY)


class MemoryErrors:
    """Counts the steps that failed for lack of memory, and has the scheduler plan smaller ones."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._num_failures = 0

    def give_way(self, step: Step, error: Exception) -> None:
        """Give up the step; no sequence has advanced. Raises the error when no smaller step is left to try."""
        logger.warning("no memory for a step of %d tokens: %s", step.num_rows, error)
        if not self._scheduler.shrink(step.num_rows):
            self._num_failures += 1
            if self._num_failures >= _TRIES:
                raise error
            time.sleep(_PAUSE_S)

    def passed(self) -> None:
        """Note that a step succeeded."""
        self._scheduler.recover()
        self._num_failures = 0
