"""Finds full blocks by their tokens, so that a prompt's beginning need not be computed twice.

Knows nothing of a block's principals or contents.

A block's key is a hash of its own tokens and of the key before it. So equal keys mean equal tokens from the very start
(vLLM's automatic prefix caching). With blocks of four letters:

    prompt        A B C D | E F G H | I J       keys: k1 = hash(root, ABCD), k2 = hash(k1, EFGH)
    another       A B C D | X Y Z W | ...       finds k1, not k2
    a stranger    A B C D | ...                 finds nothing: its root is another

The root is made of a salt (the principal), the model and the adapter. So no principal can learn from the time of an
answer what another has asked.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from inference.protocol.events import Absence
from inference.protocol.request import CacheTTL

TTL_SECONDS: dict[CacheTTL, float] = {"none": math.inf, "5m": 300.0, "1h": 3600.0}
"""`none` promises nothing and never expires: such a block stays until its room is needed."""
_NUM_REMEMBERED = 32_768
"""Evicted keys remembered as such: those of some 500,000 tokens, in about 5 MB."""
_CLASSES: tuple[CacheTTL, ...] = ("none", "5m", "1h")
"""Classes in the order in which their blocks make room."""


def root_key(salt: str, model: str, adapter: str = "") -> bytes:
    """Return the parent of the first block's key; equal only for equal salt, model and adapter."""
    parts = [part.encode() for part in (salt, model, adapter)]
    # Each part's length goes first, or ("ab", "c") and ("a", "bc") would be the same.
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).digest()


def next_key(parent: bytes, ids: Sequence[int]) -> bytes:
    """Return the key of a full block after the one with the key `parent`."""
    return hashlib.sha256(parent + array("q", ids).tobytes()).digest()


class PrefixCache(Protocol):
    """Keeps full blocks for later prompts. A block is in use (held) or idle; only idle ones are evicted."""

    @property
    def num_idle(self) -> int:
        """Number of cached blocks that no sequence uses, which can be evicted."""

    def idle_blocks(self) -> list[int]:
        """Return the idle blocks, the next to be evicted first."""

    def match(self, keys: Sequence[bytes]) -> list[int]:
        """Return the blocks of the longest known beginning of keys. Changes nothing."""

    def absence(self, key: bytes) -> Absence:
        """Return why match found no block with this key."""

    def insert(self, key: bytes, block: int, ttl: CacheTTL) -> bool:
        """Make a block in use known by its key. Return whether that made the key known (another block may have it)."""

    def hold(self, block: int, ttl: CacheTTL) -> None:
        """Mark a known block as in use, by a request of this class."""

    def release(self, block: int) -> bool:
        """Mark a block as no longer in use. Return whether the cache keeps it."""

    def evict(self) -> int | None:
        """Forget an idle block and return it; None: there is none."""

    def forget(self, block: int) -> None:
        """Keep a block in use from being found again."""


class NoPrefixCache:
    """Keeps nothing."""

    num_idle = 0

    def idle_blocks(self) -> list[int]:
        return []

    def match(self, keys: Sequence[bytes]) -> list[int]:
        return []

    def absence(self, key: bytes) -> Absence:
        return "never"

    def insert(self, key: bytes, block: int, ttl: CacheTTL) -> bool:
        return False

    def hold(self, block: int, ttl: CacheTTL) -> None:
        raise KeyError(block)

    def release(self, block: int) -> bool:
        return False

    def evict(self) -> int | None:
        return None

    def forget(self, block: int) -> None:
        pass


@dataclass
class _Entry:
    """One known block."""

    key: bytes
    block: int
    ttl: CacheTTL
    expires_at: float = math.inf
    """Set while the block is idle: its time runs from the end of its last use."""


class LruPrefixCache:
    """Evicts expired blocks first, then the least recently used of the lowest class."""

    def __init__(self, clock: Callable[[], float], num_remembered: int = _NUM_REMEMBERED) -> None:
        """clock: seconds, from any beginning; num_remembered: evicted keys remembered as such."""
        self._clock = clock
        self._num_remembered = num_remembered
        self._by_key: dict[bytes, _Entry] = {}
        self._by_block: dict[int, _Entry] = {}
        # Within a class all blocks live equally long: the least recently used is also the first to expire.
        self._idle: dict[CacheTTL, OrderedDict[int, _Entry]] = {ttl: OrderedDict() for ttl in _CLASSES}
        self._gone: OrderedDict[bytes, Absence] = OrderedDict()
        self._has_forgotten = False

    @property
    def num_idle(self) -> int:
        return sum(len(entries) for entries in self._idle.values())

    def idle_blocks(self) -> list[int]:
        now = self._clock()
        idle = [entry for entries in self._idle.values() for entry in entries.values()]
        return [entry.block for entry in sorted(idle, key=lambda entry: entry.expires_at > now)]

    def match(self, keys: Sequence[bytes]) -> list[int]:
        now, found = self._clock(), []
        for key in keys:
            entry = self._by_key.get(key)
            if entry is None or entry.expires_at <= now:
                break
            found.append(entry.block)
        return found

    def absence(self, key: bytes) -> Absence:
        if key in self._by_key:
            return "expired"
        return self._gone.get(key, "unknown" if self._has_forgotten else "never")

    def insert(self, key: bytes, block: int, ttl: CacheTTL) -> bool:
        if known := self._by_key.get(key):
            return self._renew(known, ttl)
        self._by_key[key] = self._by_block[block] = _Entry(key, block, ttl)
        return True

    def _renew(self, entry: _Entry, ttl: CacheTTL) -> bool:
        """Reuse a known entry, whose keys and values are right at any age. Return whether it had expired."""
        was_expired = entry.expires_at <= self._clock()
        is_idle = self._idle[entry.ttl].pop(entry.block, None) is not None
        entry.ttl = ttl if was_expired else max(entry.ttl, ttl, key=_CLASSES.index)
        if is_idle:
            self.release(entry.block)
        return was_expired

    def hold(self, block: int, ttl: CacheTTL) -> None:
        entry = self._by_block[block]
        self._idle[entry.ttl].pop(block, None)
        entry.ttl = max(entry.ttl, ttl, key=_CLASSES.index)
        entry.expires_at = math.inf

    def release(self, block: int) -> bool:
        if (entry := self._by_block.get(block)) is None:
            return False
        entry.expires_at = self._clock() + TTL_SECONDS[entry.ttl]
        self._idle[entry.ttl][block] = entry
        return True

    def evict(self) -> int | None:
        entry = self._first_expired() or self._first_idle()
        if entry is None:
            return None
        del self._idle[entry.ttl][entry.block], self._by_key[entry.key], self._by_block[entry.block]
        self._remember(entry)
        return entry.block

    def _remember(self, entry: _Entry) -> None:
        """Remember why the block went, for absence."""
        self._gone[entry.key] = "expired" if entry.expires_at <= self._clock() else "evicted"
        self._gone.move_to_end(entry.key)
        if len(self._gone) > self._num_remembered:
            self._gone.popitem(last=False)
            self._has_forgotten = True

    def _first_expired(self) -> _Entry | None:
        now = self._clock()
        heads = (next(iter(entries.values()), None) for entries in self._idle.values())
        return next((entry for entry in heads if entry is not None and entry.expires_at <= now), None)

    def _first_idle(self) -> _Entry | None:
        return next((next(iter(entries.values())) for entries in self._idle.values() if entries), None)

    def forget(self, block: int) -> None:
        if entry := self._by_block.pop(block, None):
            del self._by_key[entry.key]
