"""Blocks under random schedules: none is ever lost, shared for writing, or found with the wrong tokens in it."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from inference.engine.scheduling.block_manager import BlockCopy, BlockManager, OutOfBlocks, Reservation
from inference.engine.scheduling.prefix_cache import LruPrefixCache, NoPrefixCache, PrefixCache, next_key, root_key
from inference.protocol.request import CacheTTL
from tests.inference.engine.fakes import SetClock

SIZE, NUM_BLOCKS = 4, 12
TTL = st.sampled_from(["none", "5m", "1h"])


def keys_of(text: str, principal: str = "alice") -> list[bytes]:
    keys: list[bytes] = []
    for start in range(0, len(text) - SIZE + 1, SIZE):
        parent = keys[-1] if keys else root_key(principal, "m")
        keys.append(next_key(parent, [ord(letter) for letter in text[start : start + SIZE]]))
    return keys


class Schedules(RuleBasedStateMachine):
    """Sequences that begin, write, fork, store and end; `memory` is what the blocks really hold."""

    @initialize(is_cached=st.booleans())
    def begin(self, is_cached: bool) -> None:
        self.clock = SetClock()
        cache: PrefixCache = LruPrefixCache(self.clock) if is_cached else NoPrefixCache()
        self.blocks = BlockManager(NUM_BLOCKS, SIZE, cache)
        self.memory = [[""] * SIZE for _ in range(NUM_BLOCKS)]
        self.sequences: list[tuple[str, list[int]]] = []

    @rule(text=st.text("ab", min_size=1, max_size=14), ttl=TTL)
    def admit(self, text: str, ttl: CacheTTL) -> None:
        keys = keys_of(text)[: (len(text) - 1) // SIZE]
        found = self.blocks.find(keys)
        if not self.blocks.can_hold(found, len(text), num_spare=0):
            return
        table = self.blocks.own(found, [ttl] * len(found))
        self.sequences.append((text[: len(table) * SIZE], table))
        self._write(len(self.sequences) - 1, text[len(table) * SIZE :])

    @precondition(lambda self: self.sequences)
    @rule(data=st.data(), letters=st.text("ab", min_size=1, max_size=6))
    def append(self, data: st.DataObject, letters: str) -> None:
        self._write(self._choose(data), letters)

    @precondition(lambda self: self.sequences)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        text, table = self.sequences[self._choose(data)]
        self.sequences.append((text, self.blocks.fork(table)))

    @precondition(lambda self: self.sequences)
    @rule(data=st.data(), ttl=TTL)
    def store(self, data: st.DataObject, ttl: CacheTTL) -> None:
        text, table = self.sequences[self._choose(data)]
        keys = keys_of(text)
        self.blocks.store(table[: len(keys)], keys, ttl)

    @precondition(lambda self: self.sequences)
    @rule(data=st.data(), is_trusted=st.booleans())
    def end(self, data: st.DataObject, is_trusted: bool) -> None:
        _, table = self.sequences.pop(self._choose(data))
        if not is_trusted:
            self.blocks.forget(table)
        self.blocks.release(table)
        assert table == []

    @rule(data=st.data(), text=st.text("ab", min_size=1, max_size=30), num_spare=st.integers(0, 4))
    def make_room(self, data: st.DataObject, text: str, num_spare: int) -> None:
        """What is said to fit once these have ended does fit then, and nothing else."""
        keys = keys_of(text)[: (len(text) - 1) // SIZE]
        ended = [
            self.sequences.pop(self._choose(data))[1] for _ in range(data.draw(st.integers(0, len(self.sequences))))
        ]
        found = self.blocks.find(keys)
        fits = self.blocks.can_hold(found, len(text), num_spare, ended)
        for table in ended:
            self.blocks.release(table)
        assert self.blocks.find(keys) == found
        assert self.blocks.can_hold(found, len(text), num_spare) == fits

    @rule(seconds=st.sampled_from([1, 299, 300, 3600]))
    def wait(self, seconds: int) -> None:
        self.clock.now += seconds

    def _choose(self, data: st.DataObject) -> int:
        return data.draw(st.integers(0, len(self.sequences) - 1))

    def _write(self, index: int, letters: str) -> None:
        text, table = self.sequences[index]
        start, end = len(text), len(text) + len(letters)
        before = (list(table), self.blocks.num_available)
        try:
            reservation = self.blocks.reserve(table, start, end)
        except OutOfBlocks:
            assert (table, self.blocks.num_available) == before
            return
        for copy in reservation.copies:
            self.memory[copy.target] = list(self.memory[copy.source])
        assert self.blocks.is_exclusive(table, start, end)
        for position, letter in enumerate(letters, start):
            self.memory[table[position // SIZE]][position % SIZE] = letter
        self.sequences[index] = (text + letters, table)

    @invariant()
    def every_block_is_free_cached_or_owned(self) -> None:
        self.blocks.check_integrity([table for _, table in self.sequences])

    @invariant()
    def every_sequence_reads_what_it_wrote(self) -> None:
        for text, table in self.sequences:
            assert "".join(letter for block in table for letter in self.memory[block])[: len(text)] == text

    def teardown(self) -> None:
        for _, table in self.sequences:
            self.blocks.release(table)
        assert self.blocks.num_available == NUM_BLOCKS


TestSchedules = Schedules.TestCase
TestSchedules.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


@pytest.fixture
def blocks() -> BlockManager:
    return BlockManager(4, SIZE, LruPrefixCache(SetClock()))


def test_the_integrity_check_finds_a_leak(blocks: BlockManager) -> None:
    table: list[int] = []
    blocks.reserve(table, 0, 9)
    blocks.check_integrity([table])
    for wrong in ([], [table, table], [table[:2]]):
        with pytest.raises(AssertionError):
            blocks.check_integrity(wrong)


def test_a_fork_copies_only_the_block_it_writes_to(blocks: BlockManager) -> None:
    table: list[int] = []
    blocks.reserve(table, 0, 6)
    fork = blocks.fork(table)
    assert blocks.reserve(fork, 6, 7) == Reservation((BlockCopy(table[1], fork[1]),))
    assert fork[0] == table[0] and fork[1] != table[1]
    assert blocks.reserve(table, 6, 7) == Reservation()


def test_eviction_is_counted_and_takes_the_end_of_the_oldest_first(blocks: BlockManager) -> None:
    keys = keys_of("aaaabbbbcccc")
    table: list[int] = []
    blocks.reserve(table, 0, 12)
    assert blocks.store(table, keys, "none") == [0, 1, 2]
    table_before = list(table)
    blocks.release(table)
    oldest = table_before[2]
    assert blocks.reserve(table, 0, 8).evicted == (oldest,)
    assert len(blocks.find(keys)) == 2


def test_a_block_in_use_is_kept_for_the_time_that_its_next_reader_wants() -> None:
    clock = SetClock()
    blocks = BlockManager(NUM_BLOCKS, SIZE, LruPrefixCache(clock))
    keys = keys_of("abab")
    first: list[int] = []
    blocks.reserve(first, 0, SIZE)
    blocks.store(first, keys, "none")
    second = blocks.own(blocks.find(keys), ["5m"])
    blocks.release(first)
    blocks.release(second)
    clock.now += 301
    assert blocks.find(keys) == []
