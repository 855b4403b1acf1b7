"""The clock of a request's events. Knows nothing of events."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """The clock of a request's events."""

    def at(self) -> int:
        """Return µs since the request was accepted."""


class ProcessClock:
    """One monotonic clock per process, anchored once to the wall clock."""

    def __init__(self) -> None:
        self._anchor_ns = time.time_ns() - time.monotonic_ns()

    def unix_us(self) -> int:
        """µs since the epoch; never runs backwards within a process."""
        return (self._anchor_ns + time.monotonic_ns()) // 1000


_PROCESS_CLOCK = ProcessClock()


class RequestClock:
    """µs since one request was accepted."""

    def __init__(self, accepted_unix_us: int, process_clock: ProcessClock = _PROCESS_CLOCK) -> None:
        self._accepted_unix_us = accepted_unix_us
        self._process_clock = process_clock

    def at(self) -> int:
        return self._process_clock.unix_us() - self._accepted_unix_us


def unix_us() -> int:
    """µs since the epoch by this process's clock."""
    return _PROCESS_CLOCK.unix_us()
