"""Simulates the prefix cache over requests in the order of their time. Pure.

The cache here has room for everything and one worker that never ends. A trace tells which blocks the engine really
found. So there are two answers: in one a block without a promise stays, in the other it counts only where it was found.

    blocks of four letters        found      written for 5 minutes
    10:00  ABCD EFGH |IJ          -          ABCD EFGH
    10:04  ABCD EFGH |KL          ABCD EFGH  -
    10:10  ABCD EFGH |MN          -          ABCD EFGH     their time ran out at 10:09
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal

from inference.protocol.request import NO_TTL, CacheMark, CacheTTL, KeptTTL, Usage, ttl_before
from webapp.usage.repricing.records import Group, Read

Placement = Literal["recorded", "none", "system", "history", "automatic"]
"""Breakpoints: as sent; none; after the system prompt; there and after the history; after the whole prompt."""
Ttl = Literal["recorded", "none", "5m", "1h"]

_SECONDS: dict[str, float] = {"5m": 300.0, "1h": 3600.0}
_CLASSES: tuple[CacheTTL, ...] = ("none", "5m", "1h")


@dataclass(frozen=True)
class Scenario:
    """What is imagined to have been otherwise."""

    placement: Placement = "recorded"
    ttl: Ttl = "recorded"
    """For `recorded`, breakpoints that were not sent live for 5 minutes."""


@dataclass
class _Entry:
    ttl: CacheTTL
    used_until_s: float

    def is_expired(self, now_s: float) -> bool:
        return now_s > self.used_until_s + _SECONDS.get(self.ttl, float("inf"))


@dataclass
class _Cache:
    """The blocks of all requests so far, by key."""

    keeps_unpromised: bool
    entries: dict[bytes, _Entry] = field(default_factory=dict)

    def has(self, key: bytes, now_s: float, was_found: bool) -> bool:
        entry = self.entries.get(key)
        if entry is None:
            return was_found
        if entry.ttl == NO_TTL:
            return was_found or self.keeps_unpromised
        return not entry.is_expired(now_s)

    def use(self, key: bytes, ttl: CacheTTL, read: Read) -> bool:
        """Keep a block until the request's end and its time after that. Return whether the cache lacked it."""
        entry = self.entries.get(key)
        if entry is None or entry.is_expired(read.begun_s):
            self.entries[key] = _Entry(ttl, read.ended_s)
            return True
        entry.ttl = max(entry.ttl, ttl, key=_CLASSES.index)
        entry.used_until_s = max(entry.used_until_s, read.ended_s)
        return False


def marks_of(read: Read, scenario: Scenario) -> tuple[CacheMark, ...]:
    """The request's breakpoints in the scenario."""
    if scenario.placement == "none" or scenario.ttl == "none":
        return ()
    if scenario.placement == "recorded":
        return tuple(_with_ttl(mark.num_tokens, scenario.ttl, mark.ttl) for mark in read.marks)
    ends = {
        "system": (read.system_end,),
        "history": (read.system_end, read.history_end),
        "automatic": (read.num_read,),
    }[scenario.placement]
    return tuple(_with_ttl(end, scenario.ttl, "5m") for end in dict.fromkeys(ends) if end)


def _with_ttl(num_tokens: int, wanted: Ttl, sent: KeptTTL) -> CacheMark:
    return CacheMark(num_tokens=num_tokens, ttl=wanted if wanted in ("5m", "1h") else sent)


class Simulation:
    """One cache that reads requests in the order in which they came."""

    def __init__(self, scenario: Scenario, keeps_unpromised: bool) -> None:
        self._scenario = scenario
        self._cache = _Cache(keeps_unpromised)
        self._num_read = 0
        self._writing: list[tuple[float, int, Read]] = []
        """Answers that are being written: their blocks can be found once they have ended."""

    def read(self, read: Read) -> Usage:
        """Return the request's tokens by price."""
        while self._writing and self._writing[0][0] <= read.begun_s:
            _keep_answer(self._cache, heappop(self._writing)[2])
        self._num_read += 1
        heappush(self._writing, (read.ended_s, self._num_read, read))
        return _read(self._cache, read, marks_of(read, self._scenario))


def _read(cache: _Cache, read: Read, marks: tuple[CacheMark, ...]) -> Usage:
    keys = list(_keys(read, read.num_read))
    num_found = _num_found(cache, read, keys)
    written = dict.fromkeys(_CLASSES, 0)
    for index, key in enumerate(keys):
        ttl = ttl_before(marks, (index + 1) * read.block_size)
        is_new = cache.use(key, ttl, read)
        written[ttl] += read.block_size * (is_new and index >= num_found)
    cached = num_found * read.block_size
    return Usage(
        uncached_input=read.num_read - cached - written["5m"] - written["1h"],
        cache_read=cached,
        cache_write_5m=written["5m"],
        cache_write_1h=written["1h"],
        output=read.num_output,
    )


def _num_found(cache: _Cache, read: Read, keys: Sequence[bytes]) -> int:
    """The last token is always computed."""
    useful = keys[: (read.num_read - 1) // read.block_size]
    for index, key in enumerate(useful):
        if not cache.has(key, read.begun_s, was_found=index < read.num_found):
            return index
    return len(useful)


def _keep_answer(cache: _Cache, read: Read) -> None:
    """The keys and values of the newest token are never computed."""
    keys = list(_keys(read, len(read.ids) - 1))
    for key in keys[read.num_read // read.block_size :]:
        cache.use(key, NO_TTL, read)


def _keys(read: Read, num_tokens: int) -> Iterator[bytes]:
    """The key of each full block: of its tokens and the key before it, from a root of user and model."""
    key = _root(read.group)
    for start in range(0, num_tokens - read.block_size + 1, read.block_size):
        ids = array("q", read.ids[start : start + read.block_size])
        key = hashlib.blake2b(key + ids.tobytes(), digest_size=16).digest()
        yield key


def _root(group: Group) -> bytes:
    return hashlib.blake2b(f"{group.user_id}:{group.model}".encode(), digest_size=16).digest()
