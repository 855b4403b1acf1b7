"""The kept process that has read a vocabulary; a copy of it serves one constraint. Knows nothing of constraints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from inference.sandbox.kept_process import PATIENCE_S, Kept
from inference.sandbox.sandbox import Bounds

_WORK = Path(__file__).with_name("grammar_sandbox.py")
_READING = Bounds(time_limit_s=60, memory_bytes=0)
"""The vocabulary is the model's own. Reading one of 49,000 tokens takes 0.2 s."""
COPY = Bounds(time_limit_s=0.5, memory_bytes=128 << 20)
"""For one constraint: the time to compile it, and then for each mask. Usual masks take some 0.1 ms and 10 MB."""


def kept_vocabulary(described: Callable[[], dict[str, Any] | None], patience_s: float = PATIENCE_S) -> Kept:
    """described: returns the vocabulary for the process; see grammar_sandbox. patience_s: longest wait for a reply."""
    return Kept(_WORK, _READING, lambda: {"vocabulary": described()}, COPY, patience_s)
