"""Detects an answer that repeats itself: its last tokens are one cycle over and over. Knows token ids alone.

The page finds repetition in saved answers by the same rule (cycleOf in frontend/src/trace/findings/wording.ts).
"""

from __future__ import annotations

from collections import defaultdict, deque

from inference.protocol.request import LONGEST_CYCLE, REPETITION_CYCLES, REPETITION_TOKENS


class Repetition:
    """Reads one answer, token by token."""

    def __init__(self) -> None:
        self._num_tokens = 0
        self._places: defaultdict[int, deque[int]] = defaultdict(lambda: deque(maxlen=LONGEST_CYCLE))
        """Each token's last positions."""
        self._runs: dict[int, int] = {}
        """Number of last tokens that equal the token one cycle before, by the size of the cycle."""

    def add(self, token: int) -> bool:
        """Read one more token. Return True when the answer now ends in a repetition."""
        places = self._places[token]
        while places and self._num_tokens - places[0] > LONGEST_CYCLE:
            places.popleft()
        sizes = (self._num_tokens - place for place in places)
        self._runs = {size: self._runs.get(size, 0) + 1 for size in sizes}
        places.append(self._num_tokens)
        self._num_tokens += 1
        return any(_is_repetition(size, size + run) for size, run in self._runs.items())


def _is_repetition(size: int, num_tokens: int) -> bool:
    return num_tokens >= REPETITION_CYCLES * size and num_tokens >= REPETITION_TOKENS
