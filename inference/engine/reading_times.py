"""How long the tokens in each block took to be read. Knows nothing of requests, nor of why a block is found again.

A step's time is shared evenly among its tokens: what a block took depends on how deep its tokens stood and on how full
the steps were that read them. A generated token was never read; how long that would have taken is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Reading(NamedTuple):
    """What is known of some tokens that were read."""

    num_tokens: int = 0
    us: float = 0.0


class ReadingTimes:
    """Of all blocks of one key/value cache. A block is filled from its first token on."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._readings: dict[int, Reading] = {}

    def read(self, table: Sequence[int], start: int, num_tokens: int, us_per_token: float) -> None:
        """Tokens of a sequence with this block table were read, from the start-th on."""
        end = start + num_tokens
        while start < end:
            stop = min(end, (start // self._block_size + 1) * self._block_size)
            before = self._begun(table, start)
            num_new = stop - start
            self._readings[table[start // self._block_size]] = Reading(
                before.num_tokens + num_new, before.us + num_new * us_per_token
            )
            start = stop

    def generated(self, table: Sequence[int], start: int, num_tokens: int) -> None:
        """The same, of tokens that were not read."""
        size = self._block_size
        for first in range(-(-start // size) * size, start + num_tokens, size):
            self._readings.pop(table[first // size], None)

    def copied(self, source: int, target: int) -> None:
        self._readings[target] = self._readings.get(source, Reading())

    def of(self, blocks: Sequence[int], num_tokens: int) -> Reading:
        """What is known of the first so many tokens in these blocks, which may end within the last."""
        size = self._block_size
        parts = [self._part(block, min(size, num_tokens - index * size)) for index, block in enumerate(blocks)]
        return Reading(sum(part.num_tokens for part in parts), sum(part.us for part in parts))

    def _begun(self, table: Sequence[int], start: int) -> Reading:
        """What the block at this token has of its earlier tokens: at its first, nothing that was there counts."""
        return (
            self._readings.get(table[start // self._block_size], Reading()) if start % self._block_size else Reading()
        )

    def _part(self, block: int, num_tokens: int) -> Reading:
        whole = self._readings.get(block, Reading())
        num_known = min(whole.num_tokens, num_tokens)
        return Reading(num_known, whole.us * num_known / whole.num_tokens) if num_known > 0 else Reading()
