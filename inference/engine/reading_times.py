"""The time that reading each block's tokens took. Knows nothing of requests, nor of why a block is found again.

A step's time is shared evenly among its tokens. So a block's time depends on its tokens' depth and on the sizes of the
steps that read them. A generated token was never read, so its time is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Reading(NamedTuple):
    """The number and time of some tokens whose reading was timed."""

    num_tokens: int = 0
    us: float = 0.0


class ReadingTimes:
    """The readings of all blocks of one key/value cache. A block is filled from its first token on."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._readings: dict[int, Reading] = {}

    def read(self, table: Sequence[int], start: int, num_tokens: int, us_per_token: float) -> None:
        """Record that tokens of a sequence with this block table were read, from the start-th on."""
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
        """Record that tokens were generated, so not read."""
        size = self._block_size
        for first in range(-(-start // size) * size, start + num_tokens, size):
            self._readings.pop(table[first // size], None)

    def copied(self, source: int, target: int) -> None:
        self._readings[target] = self._readings.get(source, Reading())

    def of(self, blocks: Sequence[int], num_tokens: int) -> Reading:
        """Return the reading of the first num_tokens tokens in these blocks; they may end within the last block."""
        size = self._block_size
        parts = [self._part(block, min(size, num_tokens - index * size)) for index, block in enumerate(blocks)]
        return Reading(sum(part.num_tokens for part in parts), sum(part.us for part in parts))

    def _begun(self, table: Sequence[int], start: int) -> Reading:
        """Return the reading of the block's tokens before this one; none at its first, as old contents do not count."""
        return (
            self._readings.get(table[start // self._block_size], Reading()) if start % self._block_size else Reading()
        )

    def _part(self, block: int, num_tokens: int) -> Reading:
        whole = self._readings.get(block, Reading())
        num_known = min(whole.num_tokens, num_tokens)
        return Reading(num_known, whole.us * num_known / whole.num_tokens) if num_known > 0 else Reading()
