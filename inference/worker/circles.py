"""Detects an answer that goes in a circle: its last tokens repeat one round. Token ids in, True or False out.

The page finds the circles of saved answers by the same rule (circleOf in frontend/src/trace/findings/wording.ts).
"""

from __future__ import annotations

from collections import defaultdict, deque

from inference.protocol.request import CIRCLE_ROUNDS, CIRCLE_TOKENS, LONGEST_ROUND


class Circles:
    """Reads one answer, token by token."""

    def __init__(self) -> None:
        self._num_tokens = 0
        self._places: defaultdict[int, deque[int]] = defaultdict(lambda: deque(maxlen=LONGEST_ROUND))
        """Each token's last positions."""
        self._runs: dict[int, int] = {}
        """By the size of a round: the number of last tokens that equal the token one round before."""

    def add(self, token: int) -> bool:
        """Read one more token; returns True when the answer goes in a circle with it."""
        places = self._places[token]
        while places and self._num_tokens - places[0] > LONGEST_ROUND:
            places.popleft()
        sizes = (self._num_tokens - place for place in places)
        self._runs = {size: self._runs.get(size, 0) + 1 for size in sizes}
        places.append(self._num_tokens)
        self._num_tokens += 1
        return any(_is_circle(size, size + run) for size, run in self._runs.items())


def _is_circle(size: int, num_tokens: int) -> bool:
    return num_tokens >= CIRCLE_ROUNDS * size and num_tokens >= CIRCLE_TOKENS
