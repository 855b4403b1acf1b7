"""The number of files that the product's processes may have open. Knows nothing of the processes."""

from __future__ import annotations

import resource
from contextlib import suppress

_WANTED = 8192
"""A page has a connection, and each of the inference worker's 256 threads may have one. macOS allows no more than 10240
and begins with 256."""


def allowed_files(soft: int, hard: int) -> int:
    """Return the limit to set where these are the limits now: never less than now, and never more than the hard one."""
    if soft == resource.RLIM_INFINITY:
        return soft
    return max(soft, _WANTED if hard == resource.RLIM_INFINITY else min(hard, _WANTED))


def allow_open_files() -> None:
    """Raise the limit for this process and those that it starts. A system that refuses it keeps its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed_files(soft, hard), hard))
