"""The number of threads that the engine takes on a machine of these cores. Knows nothing of what they compute."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

_LIMIT_S = 10


@dataclass(frozen=True)
class Cores:
    """What a system tells of its cores. None: it does not tell."""

    present: int | None
    allowed: int | None = None
    """Cores on which this process may run: Linux tells."""
    fast: int | None = None
    """Cores of the fastest kind: macOS on Apple silicon tells."""


def default_threads(cores: Cores) -> int:
    """Return the number of threads that leaves a core to site, Redis and browser.

    All threads of a team take equal shares of a step. So a thread that waits for a core, or has a slow one, stalls the
    others. Where the cores are of several kinds, the slow ones are left to the rest.
    """
    if cores.fast and cores.present and cores.fast < cores.present:
        return cores.fast
    return max(1, (cores.allowed or cores.present or 1) - 1)


def read_cores() -> Cores:
    """Ask this system."""
    if hasattr(os, "sched_getaffinity"):
        return Cores(os.cpu_count(), allowed=len(os.sched_getaffinity(0)))
    return Cores(os.cpu_count(), fast=read_fast_cores())


def read_fast_cores() -> int | None:
    """Return the number of cores of the fastest kind; None where `sysctl` does not know it."""
    command = ["sysctl", "-n", "hw.perflevel0.logicalcpu"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_S).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return None
    return int(told) if told.isascii() and told.isdigit() else None
