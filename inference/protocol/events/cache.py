"""Events of the prefix cache: blocks looked up, stored, evicted. Knows nothing of how blocks are keyed.

All requests of a worker share the pool of blocks. So no field tells how full the pool is, the place of a block in it,
or how many blocks of others made room.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import GenerationEvent
from inference.protocol.events.shown import Shown
from inference.protocol.request import NO_TTL, CacheMark, CacheTTL

Absence = Literal["expired", "evicted", "never", "unknown"]
"""The reason why a block is not in the prefix cache. expired: its time to live ran out. evicted: it made room for
others. never: this worker never kept it. unknown: the worker has forgotten what it evicted long ago."""


class CacheLookedUp(GenerationEvent, frozen=True, kw_only=True, tag="cache.looked_up"):
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
    marks: tuple[CacheMark, ...] = ()
    """Places up to which the client wants the blocks kept."""
    num_owners: tuple[int, ...] | None = None
    """For each block taken over, the number of sequences that have it in their tables, this one included; all of the
    same user. None, here and in the next field: not recorded."""
    was_empty: bool | None = None
    """The worker had computed nothing before the look-up that a request could reuse."""
    absence: Absence | None = None
    """The reason why the first missing block was not there. None also where no block was missing."""

    unredacted: ClassVar = (
        "block_size hits num_cached_tokens saved_us num_timed_tokens marks num_owners was_empty absence"
    )
    shown: ClassVar = Shown(
        lane="prefill",
        is_mark=True,
        label="cache: {num_cached_tokens|token} found",
        meaning="Blocks of the prompt that are in the cache need not be computed again.",
        scene="cache",
        replay_ms=1800,
    )


class CacheStored(GenerationEvent, frozen=True, kw_only=True, tag="cache.stored"):
    """Blocks of this request became reusable."""

    num_blocks: int
    ttl: CacheTTL = NO_TTL
    """Time for which the blocks live after their last use. `none`: until their room is needed."""
    indices: tuple[int, ...] | None = None
    """The blocks' places in the request's block table. None: not recorded."""

    unredacted: ClassVar = "num_blocks ttl indices"
    shown: ClassVar = Shown(
        lane="prefill",
        is_mark=True,
        label="{num_blocks|block} stored in the cache",
        meaning="These blocks can be used again by your next message.",
    )


class CacheEvicted(GenerationEvent, frozen=True, kw_only=True, tag="cache.evicted"):
    """The pool was full: cached blocks were dropped to make room for this request, here for the first time."""

    unredacted: ClassVar = ""
    shown: ClassVar = Shown(
        lane="prefill",
        is_mark=True,
        label="blocks evicted from the cache",
        meaning="The least recently used blocks made room for this request.",
    )
