"""The part of a prompt that a prefix cache can keep, and what the prompt costs with and without it. Pure.

A cache keeps whole blocks. At least one token of a prompt is always computed, or there is nothing to sample from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from inference.protocol.events import Segment
from inference.protocol.request import CacheMark, Usage, ttl_before
from webapp.ground.gateway.structs import Result


class BroughtMark(Result):
    """A breakpoint of the prompt."""

    num_tokens: int
    """Tokens before it."""
    ttl: Literal["5m", "1h"]
    num_kept: int
    """Tokens before it in whole blocks, which a cache keeps for that time. 0: the part is too short."""
    source: str
    """The part that it ends."""


class BroughtPrefix(Result):
    """What the cache of the model here does with a prompt."""

    block_size: int
    """Tokens of a block: the least that is kept."""
    marks: tuple[BroughtMark, ...]
    num_reusable: int
    """Tokens in whole blocks that the same prompt finds again."""
    first: Usage
    """The prompt's tokens by kind, where nothing of it is in the cache."""
    again: Usage
    """The same where all of it is still there."""


def prefix_of(segments: Sequence[Segment], num_tokens: int, block_size: int) -> BroughtPrefix:
    marks = tuple(
        BroughtMark(each.end, each.breakpoint, whole(each.end, block_size), each.source)
        for each in segments
        if each.breakpoint in ("5m", "1h")
    )
    num_reusable = whole(max(0, num_tokens - 1), block_size)
    first, again = (usage_of(marks, num_tokens, block_size, num_cached) for num_cached in (0, num_reusable))
    return BroughtPrefix(block_size, marks, num_reusable, first, again)


def whole(num_tokens: int, block_size: int) -> int:
    """The tokens in whole blocks."""
    return num_tokens // block_size * block_size


def usage_of(marks: Sequence[BroughtMark], num_tokens: int, block_size: int, num_cached: int) -> Usage:
    """The prompt's tokens by kind, where so many of its first ones are in the cache, in whole blocks.

    A block that is not there is written for the longest time of the breakpoints behind it.
    """
    cache_marks = [CacheMark(num_tokens=each.num_tokens, ttl=each.ttl) for each in marks]
    written: Counter[str] = Counter()
    for end in range(num_cached + block_size, max((each.num_kept for each in marks), default=0) + 1, block_size):
        written[ttl_before(cache_marks, end)] += block_size
    return Usage(
        uncached_input=num_tokens - num_cached - written.total(),
        cache_read=num_cached,
        cache_write_5m=written["5m"],
        cache_write_1h=written["1h"],
    )
