"""Says when a wait for processes is over: they have stood still. Knows nothing of what they are to do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress

WINDOW_S = 120.0
LEAST_CPU_S = 10.0
"""Idle processes compute less in a window. A compiler on a busy machine computes more."""


class Patience:
    """Lasts while the processes compute: a first start compiles and loads, on a busy machine for minutes."""

    def __init__(
        self, pids: Callable[[], Iterable[int]], window_s: float = WINDOW_S, least_cpu_s: float = LEAST_CPU_S
    ) -> None:
        """pids: gives the processes that run now; those that they started are counted too.

        window_s: the shortest wait. least_cpu_s: seconds of computing that a window needs for the wait to go on.
        """
        self._pids = pids
        self._window_s = window_s
        self._least_cpu_s = least_cpu_s
        self._cpu_s = 0.0
        self._ends_at = time.monotonic() + window_s

    def is_over(self) -> bool:
        """True: the processes have hardly computed in the last window."""
        if time.monotonic() < self._ends_at:
            return False
        before, self._cpu_s = self._cpu_s, sum(map(cpu_s, self._pids()))
        self._ends_at = time.monotonic() + self._window_s
        return self._cpu_s - before < self._least_cpu_s


def cpu_s(pid: int) -> float:
    """Return the seconds that a process and those that it started have computed; 0 for one that has ended."""
    import psutil  # only here: it takes 10 ms of a start

    total = 0.0
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in [process, *process.children(recursive=True)]:
            with suppress(psutil.Error):  # ended meanwhile
                total += sum(each.cpu_times()[:4])
    return total
