"""The delays before a process is started again. Knows nothing of processes."""

from __future__ import annotations

_MOST_S = 30.0
_STEADY_S = 60.0
"""Seconds after which a process counts as sound: its next end is a new one."""


class Backoff:
    """Of one process: no delay at its first end, then 1 s, and twice as long each time that it ends soon."""

    def __init__(self) -> None:
        self._num_ends = 0

    def next_delay_s(self, age_s: float) -> float:
        """Return the delay after an end. age_s: of the process that ended."""
        self._num_ends = 1 if age_s >= _STEADY_S else self._num_ends + 1
        return 0.0 if self._num_ends == 1 else min(2.0 ** min(self._num_ends - 2, 10), _MOST_S)
