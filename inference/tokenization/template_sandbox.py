"""Where a model file's chat template runs: no private attributes, no endless loops, no end of memory.

Time is looked at between Python's lines, so one operation that takes for ever (the comparison of lists nested in each
other a hundred times over; those written out at length, 88 s for 60 levels) is not ended. The memory limit is the whole
process's: other threads have the same room, of which honest templates, done in milliseconds, leave nearly all. While a
hostile one fills it, what they ask for may be refused too. Knows nothing of prompts.
"""

from __future__ import annotations

import resource
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.ext import loopcontrols
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

_TIME_LIMIT_S = 1.0
"""Thousands of times what an honest template needs."""

_MAX_SIZE = 1_000_000
"""Characters, items or bits that one multiplication may make."""
_MEMORY_LIMIT = 512 << 20
"""Bytes: thousands of times what an honest template needs, and room for whatever else the process does meanwhile."""
_limiting = threading.Lock()


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """Jinja as chat templates expect it, with `*` and `**` bounded."""

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if _size_of_result(operator, left, right) > _MAX_SIZE:
            raise SecurityError(f"a value made by {operator} is too large")
        return super().call_binop(context, operator, left, right)


def _size_of_result(operator: str, left: Any, right: Any) -> Any:
    if operator == "**":
        return _num_bits(left) * abs(right)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _num_bits(left) + _num_bits(right)
    return len(right) * left if isinstance(left, int) else len(left) * right


def _num_bits(number: float) -> int:
    return number.bit_length() if isinstance(number, int) else 64


@contextmanager
def time_limit(seconds: float = _TIME_LIMIT_S) -> Iterator[None]:
    """Raise SecurityError in this thread's Python code once the time is over."""
    deadline = time.monotonic() + seconds

    def check(_frame: FrameType, _event: str, _arg: Any) -> Any:
        if time.monotonic() > deadline:
            raise SecurityError(f"it ran for more than {seconds:g} s")
        return check

    before = sys.gettrace()
    sys.settrace(check)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def memory_limit(num_bytes: int = _MEMORY_LIMIT) -> Iterator[None]:
    """Raise MemoryError where the process would take so much more meanwhile.

    It bounds what runs in C too, where time is not looked at: a text joined to itself again and again, a width of a
    billion. One thread at a time; where the system does not tell what is taken, there is no limit.
    """
    with _limiting:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        taken = _address_space()
        if taken is not None and (soft == resource.RLIM_INFINITY or taken + num_bytes < soft):
            resource.setrlimit(resource.RLIMIT_AS, (taken + num_bytes, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int | None:
    """Of this process, in bytes."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except OSError:
        return None
