"""Splits a text into the pieces that a classifier scores. Knows nothing of models or scores."""

from __future__ import annotations

import re

from inference.protocol.request import MAX_MESSAGE_BYTES

MAX_CHARS = 2 * MAX_MESSAGE_BYTES + 1
"""Longest text accepted for a check, so that its cost is bounded: a system prompt and a message in one."""
WINDOW_CHARS = 300
"""Longest piece: as much as an embedding of at most 128 tokens can take."""
_STRIDE_CHARS = 240

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def split_sentences(text: str) -> list[str]:
    """Return the sentences in order, each once; a long one as overlapping windows, so that all of it is checked.

    The text is not truncated: the code that accepts it from outside enforces MAX_CHARS.
    """
    found = (match.group().strip() for match in _SENTENCE.finditer(text))
    windows = [window for sentence in found for window in _windows(sentence) if any(c.isalnum() for c in window)]
    return list(dict.fromkeys(windows))


def open_part(sentence: str) -> str:
    """Return the end of a sentence that goes on, without the windows that further text leaves as they are."""
    overlap = WINDOW_CHARS - _STRIDE_CHARS
    return sentence[max(0, (len(sentence) - overlap) // _STRIDE_CHARS * _STRIDE_CHARS) :]


def _windows(sentence: str) -> list[str]:
    last = max(len(sentence) - WINDOW_CHARS + _STRIDE_CHARS, 1)
    return [sentence[start : start + WINDOW_CHARS] for start in range(0, last, _STRIDE_CHARS)]
