"""Events of the prefix cache: blocks looked up, stored, evicted. Knows nothing of how blocks are keyed."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import Event
from inference.protocol.events.shown import Shown
from inference.protocol.request import NO_TTL, CacheTTL

Absence = Literal["expired", "evicted", "never", "unknown"]
"""Why a block is not in the prefix cache: its time to live ran out; it made room for others; this worker never kept it;
or that is not known, because the worker has forgotten what it evicted long ago."""


class CacheLookedUp(Event, frozen=True, kw_only=True, tag="cache.looked_up"):
    """The prompt's blocks were looked up in the prefix cache and in running requests with the same prompt.

    After a preemption the answer's too.
    """

    block_size: int
    """Tokens per block."""
    hits: tuple[bool, ...]
    """Per full block, whether its keys and values were taken from the cache. The last token is always computed."""
    num_cached_tokens: int
    """Tokens taken over: of a running request's equal prompt also those of its last block, which is partly filled."""
    saved_us: int | None = None
    """How long the tokens taken over took to be read, by the steps that read them: a step's time is shared evenly among
    its tokens. None: not known of any. Where `num_timed_tokens` is None: estimated from the speed of other steps."""
    num_timed_tokens: int | None = None
    """Of the tokens taken over, those whose reading was timed; the others were generated. None: not recorded."""
    ttl: CacheTTL = NO_TTL
    """For how long the client wants the blocks kept."""
    blocks: tuple[int, ...] | None = None
    """The block table: which block of the cache holds each block_size tokens, those taken over first. None, here and in
    the next fields: not recorded."""
    num_owners: tuple[int, ...] | None = None
    """Per block taken over, the sequences that have it in their tables, this one included."""
    eviction_ranks: tuple[int, ...] | None = None
    """Per block taken over, its place among those that could have been evicted before the look-up, from 1, the next to
    go; 0: it was in use, and could not."""
    num_idle_blocks: int | None = None
    """Cached blocks that nobody used before the look-up."""
    num_free_blocks: int | None = None
    """Blocks with nothing in them before the look-up."""
    absence: Absence | None = None
    """Why the first block that was not found was not there; None also where none was wanting."""

    kept: ClassVar = (
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
    """How long they live after their last use; `none`: until their room is needed."""
    indices: tuple[int, ...] | None = None
    """Their places in the request's block table. None, here and in the next: not recorded."""
    blocks: tuple[int, ...] | None = None
    """Which blocks of the cache they are."""

    kept: ClassVar = "num_blocks ttl indices blocks"
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
    """Which blocks of the cache they were. None: not recorded."""

    kept: ClassVar = "num_blocks blocks"
    shown: ClassVar = Shown(
        lane="prefill",
        is_mark=True,
        label="{num_blocks|block} evicted from the cache",
        meaning="The least recently used blocks made room for this request.",
    )
