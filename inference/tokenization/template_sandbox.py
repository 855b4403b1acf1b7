"""Where a model file's chat template runs: no private attributes, no endless loops. Knows nothing of prompts."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
