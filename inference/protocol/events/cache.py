"""Events of the prefix cache: blocks looked up, stored, evicted. Knows nothing of how blocks are keyed."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import Event
from inference.protocol.events.shown import Shown
from inference.protocol.request import NO_TTL, CacheTTL

Absence = Literal["expired", "evicted", "never", "unknown"]
"""The reason why a block is not in the prefix cache. expired: its time to live ran out. evicted: it made room for
others. never: this worker never kept it. unknown: the worker has forgotten what it evicted long ago."""


class CacheLookedUp(Event, frozen=True, kw_only=True, tag="cache.looked_up"):
    """The engine looked up the prompt's blocks in the prefix cache and in running requests with the same prompt.

    After a preemption it looks up the answer's blocks too.
    """

    block_size: int
    """Tokens per block."""
    hits: tuple[bool, ...]
    """One flag per full block: true if its keys and values came from the cache. The last token is always computed."""
    num_cached_tokens: int
    """Tokens taken over. From a running request with the same prompt they include its last, partly filled block."""
    saved_us: int | None = None
    """Time that the reading of the tokens taken over took. A step's time is shared evenly among its tokens. None: not
    known for any token. Where `num_timed_tokens` is None: estimated from the speed of other steps."""
    num_timed_tokens: int | None = None
    """Tokens taken over whose reading was timed. The others were generated. None: not recorded."""
    ttl: CacheTTL = NO_TTL
    """Time for which the client wants the blocks kept."""
    blocks: tuple[int, ...] | None = None
    """The block table: the cache block of each block_size tokens, blocks taken over first. None, here and in the next
    fields: not recorded."""
    num_owners: tuple[int, ...] | None = None
    """For each block taken over, the number of sequences that have it in their tables, this one included."""
    eviction_ranks: tuple[int, ...] | None = None
    """For each block taken over, its place in the order of eviction before the look-up; 1: the next to go. 0: the block
    was in use and could not be evicted."""
    num_idle_blocks: int | None = None
    """Cached blocks that no sequence used before the look-up."""
    num_free_blocks: int | None = None
    """Blocks with nothing in them before the look-up."""
    absence: Absence | None = None
    """The reason why the first missing block was not there. None also where no block was missing."""

    unredacted: ClassVar = (
        "block_size hits num_cached_tokens saved_us num_timed_tokens ttl blocks num_owners eviction_ranks "
        "num_idle_blocks num_free_blocks absence"
    )
    shown: ClassVar = Shown(
        lane="prefill",
        is_mark=True,
        label="cache: {num_cached_tokens|token} found",
        meaning="Blocks of the prompt that are in the cache need not be computed again.",
        scene="cache",
        replay_ms=1800,
    )


class CacheStored(Event, frozen=True, kw_only=True, tag="cache.stored"):
    """Blocks of this request became reusable."""

    num_blocks: int
    ttl: CacheTTL = NO_TTL
    """Time for which the blocks live after their last use. `none`: until their room is needed."""
    indices: tuple[int, ...] | None = None
    """The blocks' places in the request's block table. None, here and in the next field: not recorded."""
    blocks: tuple[int, ...] | None = None
    """The blocks' numbers in the cache."""

    unredacted: ClassVar = "num_blocks ttl indices blocks"
    shown: ClassVar = Shown(
        lane="prefill",
        is_mark=True,
        label="{num_blocks|block} stored in the cache",
        meaning="These blocks can be used again by your next message.",
    )


class CacheEvicted(Event, frozen=True, kw_only=True, tag="cache.evicted"):
    """Blocks were dropped from the cache to make room for this request."""

    num_blocks: int
    blocks: tuple[int, ...] | None = None
    """The blocks' numbers in the cache. None: not recorded."""

    unredacted: ClassVar = "num_blocks blocks"
    shown: ClassVar = Shown(
        lane="prefill",
        is_mark=True,
        label="{num_blocks|block} evicted from the cache",
        meaning="The least recently used blocks made room for this request.",
    )
