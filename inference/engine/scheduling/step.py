"""A step as the scheduler decides it: shares, copies and notes. Knows nothing of the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field

from inference.engine.scheduling.block_manager import BlockCopy
from inference.engine.scheduling.sequence import Sequence
from inference.protocol.events import Absence
from inference.protocol.request import CacheTTL


@dataclass(frozen=True)
class Scheduled:
    """One sequence's share of a step: its next tokens, and guesses of the tokens after them."""

    sequence: Sequence
    num_tokens: int
    drafts: tuple[int, ...] = ()
    is_partial: bool = False
    """True: the chunk ends inside the tokens known already, so nothing is sampled."""

    @property
    def num_rows(self) -> int:
        return self.num_tokens + len(self.drafts)

    @property
    def num_logits(self) -> int:
        return 0 if self.is_partial else 1 + len(self.drafts)


@dataclass(frozen=True)
class Admitted:
    """A sequence began to run, or to run again."""

    sequence: Sequence
    num_found_tokens: int
    """Tokens of it that the prefix cache, or another sequence with the same prompt, had."""
    shared: tuple[int, ...]
    """The blocks in which they were found."""
    num_owners: tuple[int, ...]
    """The number of owners of each block that now holds found tokens, this sequence included. A shared block that this
    sequence is to write has been copied."""
    was_empty: bool
    """All blocks were free before the admission."""
    absence: Absence | None
    """The reason why no more tokens were found. None: all that could be taken over were found."""


@dataclass(frozen=True)
class Preempted:
    """A running sequence had to give up its blocks."""

    sequence: Sequence
    num_tokens: int
    """Computed tokens that were in the blocks."""
    num_blocks: int


@dataclass(frozen=True)
class Evicted:
    """Cached blocks made room for a sequence."""

    sequence: Sequence
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class Stored:
    """Blocks became reusable."""

    indices: tuple[int, ...]
    """The blocks' places in the sequence's table."""
    ttl: CacheTTL


@dataclass
class Step:
    """The shares to compute, the copies to make before them, and notes of admissions, preemptions and evictions."""

    shares: list[Scheduled] = field(default_factory=list)
    copies: list[BlockCopy] = field(default_factory=list)
    notes: list[Admitted | Preempted | Evicted] = field(default_factory=list)

    @property
    def num_rows(self) -> int:
        return sum(share.num_rows for share in self.shares)

    @property
    def num_prefill_tokens(self) -> int:
        return sum(share.num_tokens for share in self.shares if share.sequence.is_prefilling)
