"""Finds the end of a text that may still become a stop text. Knows nothing of tokens."""

from __future__ import annotations

from collections.abc import Sequence


def num_waiting_chars(text: str, stop: Sequence[str]) -> int:
    """Return the length of the longest unfinished stop text at the text's end, in characters."""
    sizes = (size for each in stop for size in range(1, len(each)) if text.endswith(each[:size]))
    return max(sizes, default=0)
