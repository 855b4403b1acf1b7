"""Allocates the blocks of the key/value cache and takes them back. Knows nothing of their contents.

PagedAttention's memory (arXiv 2309.06180): a sequence's block table names the block of each block_size tokens. Every
block is in exactly one of three states:

    free      on the free list
    cached    no sequence uses it; the prefix cache may find it again or be asked to evict it
    owned     in the tables of as many sequences as its count says; the prefix cache may know it too

Sequences share blocks to read them: a common beginning that the prefix cache found, or all of a fork's. Before a
sequence writes to a shared block it gets a copy of its own (copy-on-write). Full blocks are never written again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inference.engine.scheduling.prefix_cache import PrefixCache
from inference.protocol.events import Absence
from inference.protocol.request import CacheTTL

DEFAULT_KV_BYTES = 512 << 20
"""Room for 23,000 tokens of SmolLM2, nearly three whole windows. The system gives the memory only as it is used."""


class OutOfBlocks(Exception):
    """Too few blocks are free or cached; nothing was changed."""


@dataclass(frozen=True)
class BlockCopy:
    """The contents of one block must be copied to another before the next step."""

    source: int
    target: int


@dataclass(frozen=True)
class Reservation:
    """The copies and evictions that made room."""

    copies: tuple[BlockCopy, ...] = ()
    evicted: tuple[int, ...] = ()


class BlockManager:
    """All blocks of one key/value cache."""

    def __init__(self, num_blocks: int, block_size: int, cache: PrefixCache) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self._cache = cache
        # A stack: the block given back last is still warm, and memory never used stays untouched.
        self._free = list(reversed(range(num_blocks)))
        self._num_owners = [0] * num_blocks

    @property
    def num_available(self) -> int:
        """Blocks that can be allocated now, those of the prefix cache included."""
        return len(self._free) + self._cache.num_idle

    @property
    def num_cached(self) -> int:
        """Blocks that no sequence uses and the prefix cache keeps."""
        return self._cache.num_idle

    def num_blocks_for(self, num_tokens: int) -> int:
        return -(-num_tokens // self.block_size)

    def find(self, keys: Sequence[bytes]) -> list[int]:
        """Return the blocks of the longest beginning of keys in the prefix cache. They are not owned yet."""
        return self._cache.match(keys)

    def absence(self, key: bytes) -> Absence:
        """Return why the prefix cache has no block with this key."""
        return self._cache.absence(key)

    @property
    def is_empty(self) -> bool:
        """True: no sequence has a block, and the prefix cache keeps none."""
        return len(self._free) == self.num_blocks

    def num_owners(self, block: int) -> int:
        return self._num_owners[block]

    def can_hold(
        self, found: Sequence[int], num_tokens: int, num_spare: int, released: Iterable[Sequence[int]] = ()
    ) -> bool:
        """Return whether num_tokens fit and leave num_spare blocks, once the tables in released are released.

        The first tokens are in the blocks found."""
        owners = Counter(block for table in released for block in table)
        freed = {block for block, num_owners in owners.items() if num_owners == self._num_owners[block]}
        num_idle = sum(self._num_owners[block] == 0 or block in freed for block in found)
        num_available = self.num_available + len(freed)
        return self.num_blocks_for(num_tokens) - len(found) + num_idle + num_spare <= num_available

    def own(self, found: Sequence[int], ttls: Sequence[CacheTTL]) -> list[int]:
        """Return a new block table of blocks that were just found. ttls: the class in which each is to be kept."""
        for block, ttl in zip(found, ttls, strict=True):
            self._cache.hold(block, ttl)
            self._num_owners[block] += 1
        return list(found)

    def fork(self, table: Sequence[int]) -> list[int]:
        """Return a second table of the same blocks."""
        for block in table:
            self._num_owners[block] += 1
        return list(table)

    def reserve(self, table: list[int], start: int, end: int) -> Reservation:
        """Make table cover tokens up to end, none shared from start on. Raises OutOfBlocks."""
        num_wanted = self.num_blocks_for(end)
        shared = [index for index in self._written(table, start, end) if self._num_owners[table[index]] > 1]
        num_new = max(0, num_wanted - len(table))
        if num_new + len(shared) > self.num_available:
            raise OutOfBlocks(f"{num_new + len(shared)} blocks are needed, {self.num_available} are available")
        num_free = len(self._free)
        copies = tuple(self._unshare(table, index) for index in shared)
        table.extend(self._take() for _ in range(num_new))
        taken = [*(copy.target for copy in copies), *table[len(table) - num_new :]]
        return Reservation(copies, tuple(taken[num_free:]))  # the free ones are taken first

    def _written(self, table: Sequence[int], start: int, end: int) -> range:
        """Return the indices of the table's present blocks that hold tokens from start to end."""
        return range(start // self.block_size, min(self.num_blocks_for(end), len(table)))

    def _unshare(self, table: list[int], index: int) -> BlockCopy:
        source, target = table[index], self._take()
        self._num_owners[source] -= 1  # shared, so another sequence still owns it
        table[index] = target
        return BlockCopy(source, target)

    def _take(self) -> int:
        block = self._free.pop() if self._free else self._cache.evict()
        assert block is not None
        self._num_owners[block] = 1
        return block

    def store(self, blocks: Sequence[int], keys: Sequence[bytes], ttl: CacheTTL) -> list[int]:
        """Make full, computed blocks known to the prefix cache. Return the indices of those that became reusable so."""
        pairs = enumerate(zip(blocks, keys, strict=True))
        return [index for index, (block, key) in pairs if self._cache.insert(key, block, ttl)]

    def forget(self, table: Iterable[int]) -> None:
        """Keep these blocks from being found again: their contents are not to be trusted."""
        for block in table:
            self._cache.forget(block)

    def release(self, table: list[int]) -> None:
        """Give a table's blocks back; the table is empty then."""
        # The end first, so that a beginning that many sequences share is evicted after its continuations.
        while table:
            block = table.pop()
            self._num_owners[block] -= 1
            if self._num_owners[block] == 0 and not self._cache.release(block):
                self._free.append(block)

    def is_exclusive(self, table: Sequence[int], start: int, end: int) -> bool:
        """Return whether tokens from start to end have blocks that no other sequence owns."""
        written = self._written(table, start, end)
        return self.num_blocks_for(end) <= len(table) and all(self._num_owners[table[i]] == 1 for i in written)

    def check_integrity(self, tables: Iterable[Sequence[int]]) -> None:
        """Raises AssertionError unless every block is free, cached or owned, and owned as often as the tables say."""
        owners = Counter(block for table in tables for block in table)
        counted = {block: count for block, count in enumerate(self._num_owners) if count}
        assert counted == owners, f"counts {counted} are not the tables' {dict(owners)}"
        states = [*self._free, *self._cache.idle_blocks(), *owners]
        assert sorted(states) == list(range(self.num_blocks)), "a block has no state, or more than one"
