"""Decides which tokens of which sequences the next step computes. Knows nothing of tensors or time.

Continuous batching (Orca, OSDI 2022) with chunked prefill (Sarathi, arXiv 2308.16369): every running sequence decodes
one token in every step, and the rest of the step's token budget goes to prompts. While any sequence decodes, that
budget is smaller. So a long prompt delays no answer by more than one chunk.

    step 1   prompt of A, 512 tokens                      no sequence decodes: the whole budget
    step 2   A decodes 1, prompt of B, 191 tokens         B is waiting or half read
    step 3   A decodes 1, B decodes 1, ...

Sequences of batches, which have a priority below 0, compute nothing while any other is there, but in every eighth step.
They give up places and blocks to any other.

Prompts are read in the order of priority, then of their principal's service so far (see fairness.py), then of arrival.
When blocks run out, the running sequence of the lowest rank is preempted: it keeps its output, waits, and is computed
again except for the blocks that the prefix cache still has. When all places are taken, a principal without a place
that has had less service gets one of the principal that has most. Deterministic: the same calls give the same steps.

A sequence waits while an earlier one of the same principal reads tokens that it needs next. Of an equal prompt (several
answers to one message) it then has all but the last token:

    step 1   A reads its prompt                           B and C, with the same prompt, wait
    step 2   A decodes 1, B reads 1 token, C reads 1      they read A's blocks; the last, partly filled, is copied
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from inference.engine.scheduling.block_manager import BlockManager, OutOfBlocks
from inference.engine.scheduling.fairness import INPUT_WEIGHT, OUTPUT_WEIGHT, ServiceCounter
from inference.engine.scheduling.prefix_cache import next_key
from inference.engine.scheduling.sequence import Sequence, Status
from inference.engine.scheduling.step import Admitted, Evicted, Preempted, Scheduled, Step, Stored
from inference.protocol.request import NO_TTL, CacheTTL

_PRIORITY_BREAK = 8
"""One step in this many orders without priority, so that no request starves."""
_RECOVERY_STEPS = 64
"""Successful steps after which a shrunk batch may grow again."""


class EngineOverloaded(Exception):
    """The waiting queue or step mode is full; the caller should try again later."""


@dataclass(frozen=True)
class Limits:
    """Limits of the work in progress and of one step."""

    max_num_running: int = 64
    max_num_waiting: int = 128
    """With the running requests and those in step mode fewer than a worker's threads. So the engine refuses the next
    request at once, and none is left in the task queue."""
    max_num_stepped: int = 32
    """Sequences in step mode. Any number of them may be paused, neither running nor waiting."""
    token_budget: int = 512
    """Tokens of a step without decoding sequences: large enough to use the matrix units well."""
    mixed_budget: int = 192
    """Tokens of a step with decoding sequences, decoded ones included. This bounds the time between two tokens."""


DEFAULT_LIMITS = Limits()
DEVICE_LIMITS = Limits(token_budget=2048, mixed_budget=512)
"""Limits on a GPU, which a few hundred rows do not fill. Not measured yet."""


class Scheduler:
    """Waiting and running sequences, and the blocks of the running ones."""

    def __init__(self, blocks: BlockManager, limits: Limits = DEFAULT_LIMITS) -> None:
        assert limits.max_num_running < limits.mixed_budget <= limits.token_budget
        self.blocks = blocks
        self.waiting: list[Sequence] = []
        self.running: list[Sequence] = []
        self._limits = limits
        self._service = ServiceCounter()
        self._num_arrived = 0
        self._num_steps = 0
        self._is_yielding = False
        self._shrunk: int | None = None
        self._num_good_steps = 0

    def add(self, sequence: Sequence) -> None:
        """Raises EngineOverloaded when the queue is full, or step mode has as many as it may have."""
        num_stepped = sum(each.request.is_stepped for each in (*self.running, *self.waiting))
        if sequence.request.is_stepped and num_stepped >= self._limits.max_num_stepped:
            raise EngineOverloaded(f"{num_stepped} answers are in step mode already; try again in a while")
        num_waiting = len(_active(self.waiting))
        if num_waiting >= self._limits.max_num_waiting:
            raise EngineOverloaded(f"{num_waiting} requests are waiting already; try again in a while")
        self._service.arrive(sequence.principal, (each.principal for each in (*self.running, *self.waiting)))
        sequence.arrival, self._num_arrived = self._num_arrived, self._num_arrived + 1
        self.waiting.append(sequence)

    def num_ahead(self, request_id: str) -> int:
        """Return the number of requests that wait in front of this one now. Any thread may call this."""
        order = [sequence.request.request_id for sequence in sorted(_active(self.waiting), key=self._turn)]
        return order.index(request_id) if request_id in order else 0

    def schedule(self) -> Step:
        """Return the next step: a token (and drafts) per decoding sequence, then prompt chunks within the budget."""
        self._num_steps += 1
        step = Step()
        while len(active := _active(self.running)) > self._max_num_running:
            self._preempt(max(active, key=_rank), step)
        self._make_place(step)
        self._is_yielding = self._must_yield()
        self._fill(step)
        if self._is_yielding and not step.shares:
            self._is_yielding = False  # the others were preempted, or do not fit
            self._fill(step)
        return step

    def _fill(self, step: Step) -> None:
        decoding = [sequence for sequence in self.decoding if not self._yields(sequence)]
        num_spare_rows = self._limits.mixed_budget - len(decoding) if self._may_draft(decoding) else 0
        for sequence in sorted(decoding, key=_rank):
            if sequence.status is Status.RUNNING:  # not preempted for one before it
                drafts = sequence.drafts[:num_spare_rows]
                num_spare_rows -= len(drafts)
                self._decode(sequence, drafts, step)
        self._prefill(self._budget(bool(decoding)) - step.num_rows, step)

    def _must_yield(self) -> bool:
        """Return whether sequences below the usual priority, those of batches, compute nothing in this step.

        They pause while any other runs or waits, so that this is as fast as without them. Every eighth step they go on.
        """
        has_others = any(not _is_of_batch(sequence) for sequence in (*_ready(self.running), *_ready(self.waiting)))
        return has_others and self._num_steps % _PRIORITY_BREAK != 0

    def _yields(self, sequence: Sequence) -> bool:
        return self._is_yielding and _is_of_batch(sequence)

    def _make_place(self, step: Step) -> None:
        """Where all places are taken, preempt one sequence for another that waits.

        It is a batch's, where the other is not. Else it is of the principal with most places, where one without a place
        has an earlier turn.
        """
        active, waiting = _active(self.running), _ready(self.waiting)
        if not waiting or len(active) < self._max_num_running:
            return
        batched = [sequence for sequence in active if _is_of_batch(sequence)]
        if batched and not all(map(_is_of_batch, waiting)):
            self._preempt(max(batched, key=_rank), step)
            return
        held = Counter(sequence.principal for sequence in active)
        most, num_held = held.most_common(1)[0]
        first = min(waiting, key=self._turn)
        last = max((each for each in active if each.principal == most), key=_rank)
        # A preempted sequence waits. It takes its place back where its turn is the first.
        is_before = self._turn(first) < self._turn(last) and first.request.priority >= last.request.priority
        if first.principal not in held and num_held > 1 and is_before:
            self._preempt(last, step)

    @property
    def _max_num_running(self) -> int:
        return min(self._limits.max_num_running, self._shrunk or self._limits.max_num_running)

    def _budget(self, is_mixed: bool) -> int:
        budget = self._limits.mixed_budget if is_mixed else self._limits.token_budget
        return min(budget, self._shrunk or budget)

    @property
    def decoding(self) -> list[Sequence]:
        """The sequences whose next token a step may compute."""
        return [sequence for sequence in _ready(self.running) if not sequence.is_prefilling]

    @property
    def has_room_for_drafts(self) -> bool:
        """True: guesses would delay no sequence, as no prompt is to be read and memory is not short."""
        prompts = [*_ready(self.waiting), *(each for each in _ready(self.running) if each.is_prefilling)]
        return not (self._shrunk or any(not self._yields(each) for each in prompts))

    def _may_draft(self, decoding: list[Sequence]) -> bool:
        """Return whether guesses delay no sequence, and there are blocks for all of them."""
        if not self.has_room_for_drafts:
            return False
        most = sum(1 + self.blocks.num_blocks_for(1 + len(sequence.drafts)) for sequence in decoding)
        return most <= self.blocks.num_available

    def _decode(self, sequence: Sequence, drafts: tuple[int, ...], step: Step) -> None:
        """Schedule its next token, and preempt others for it where needed."""
        while sequence.status is Status.RUNNING:
            try:
                self._reserve(sequence, 1 + len(drafts), step)
            except OutOfBlocks:
                self._preempt_last(step)
            else:
                step.shares.append(Scheduled(sequence, 1, drafts))
                self._service.charge(sequence.principal, OUTPUT_WEIGHT)
                return

    def _prefill(self, budget: int, step: Step) -> None:
        prefilling = [each for each in _ready(self.running) if each.is_prefilling and not self._yields(each)]
        waiting = [each for each in _ready(self.waiting) if not self._yields(each)]
        readers: list[Sequence] = []
        is_full = False
        for sequence in sorted((*prefilling, *waiting), key=self._turn):
            if budget <= 0:
                return
            if sequence.status is Status.WAITING:
                if is_full or self._is_being_read(sequence, readers):
                    continue
                # No sequence overtakes one that does not fit, or that one would never fit.
                is_full = not self._admit(sequence, step)
                if is_full:
                    continue
            readers.append(sequence)
            num_pending = sequence.num_pending_tokens
            # Generated tokens are never read together with the prompt: they are computed as they were then.
            num_tokens = min(budget, sequence.num_unread_tokens or num_pending)
            self._charge_input(sequence, num_tokens)
            step.shares.append(Scheduled(sequence, num_tokens, is_partial=num_tokens < num_pending))
            budget -= num_tokens

    def _admit(self, sequence: Sequence, step: Step) -> bool:
        """Start a waiting sequence if there is room for it and for the running ones' next tokens."""
        keys = self._useful_keys(sequence)
        if len(_active(self.running)) >= self._max_num_running:
            return False
        found = self.blocks.find(keys)  # a second look might find less
        idle = [each for each in self.running if each.is_paused or (self._yields(each) and not _is_of_batch(sequence))]
        idle.sort(key=_by_need)
        # No sequence is preempted in vain.
        tables, num_others = [each.block_table for each in idle], len(self.running) - len(idle)
        if not self.blocks.can_hold(found, sequence.num_tokens, num_others, tables):
            return False
        while not self.blocks.can_hold(found, sequence.num_tokens, num_spare=len(self.running)):
            if not idle:
                return False
            self._preempt(idle.pop(), step)
            found = self.blocks.find(keys)
        was_empty = self.blocks.is_empty
        size = self.blocks.block_size
        sequence.block_table = self.blocks.own(found, [sequence.block_ttl(at, size) for at in range(len(found))])
        sequence.num_stored_blocks = len(found)
        sequence.found(max(len(found) * self.blocks.block_size, self._share_input(sequence)))
        sequence.num_settled_blocks = max(sequence.num_settled_blocks, len(sequence.block_table))
        sequence.status = Status.RUNNING
        self.waiting.remove(sequence)
        self.running.append(sequence)
        shared, num_found, num_notes = tuple(sequence.block_table), sequence.num_computed_tokens, len(step.notes)
        missing = keys[len(shared) : len(shared) + 1]
        absence = self.blocks.absence(missing[0]) if missing else None
        self._reserve(sequence, sequence.num_pending_tokens, step)
        owners = tuple(map(self.blocks.num_owners, sequence.block_table[: len(shared)]))
        # The cache hit comes before the evictions that the rest caused.
        step.notes.insert(num_notes, Admitted(sequence, num_found, shared, owners, was_empty, absence))
        return True

    def num_cached(self, ids: tuple[int, ...], root: bytes) -> int:
        """Return the number of a prompt's first tokens whose blocks are known, without the last token, as below."""
        size, keys, parent = self.blocks.block_size, [], root
        for end in range(size, len(ids), size):
            parent = next_key(parent, ids[end - size : end])
            keys.append(parent)
        return len(self.blocks.find(keys)) * size

    def _useful_keys(self, sequence: Sequence) -> list[bytes]:
        """Return the keys of blocks that it can take over. The last token is always computed: its logits are needed."""
        size = self.blocks.block_size
        return sequence.block_keys(size)[: (sequence.num_tokens - 1) // size]

    def _is_being_read(self, sequence: Sequence, readers: list[Sequence]) -> bool:
        """Return whether a reader of the same principal is about to compute the block or prompt that it needs next."""
        readers = [reader for reader in readers if reader.principal == sequence.principal]
        if not readers:
            return False
        size, keys = self.blocks.block_size, self._useful_keys(sequence)
        num_found = len(self.blocks.find(keys))
        next_keys = keys[num_found : num_found + 1]
        for reader in readers:
            # A key stands for all tokens up to it.
            is_common = next_keys and next_keys == reader.block_keys(size)[num_found : num_found + 1]
            if is_common and reader.num_computed_tokens < (num_found + 1) * size:
                return True
            if reader.input_key(size) == sequence.input_key(size) and not _has_read(reader):
                return True
        return False

    def _share_input(self, sequence: Sequence) -> int:
        """Extend its table with a running sequence's blocks of the same input. Return its tokens in all, or 0."""
        size, table = self.blocks.block_size, sequence.block_table
        for other in self.running:
            if _has_read(other) and other.input_key(size) == sequence.input_key(size):
                num_tokens = sequence.num_input_tokens - 1
                table += self.blocks.fork(other.block_table[len(table) : self.blocks.num_blocks_for(num_tokens)])
                return num_tokens
        return 0

    def _reserve(self, sequence: Sequence, num_tokens: int, step: Step) -> None:
        start = sequence.num_computed_tokens
        reservation = self.blocks.reserve(sequence.block_table, start, start + num_tokens)
        step.copies += reservation.copies
        if reservation.evicted:
            step.notes.append(Evicted(sequence, reservation.evicted))

    def _charge_input(self, sequence: Sequence, num_tokens: int) -> None:
        """Charge its principal for new input tokens. Tokens recomputed after a preemption cost nothing."""
        num_new = sequence.num_computed_tokens + num_tokens - sequence.num_prefilled_tokens
        if not sequence.output_ids:
            self._service.charge(sequence.principal, INPUT_WEIGHT * max(0, num_new))

    def _preempt_last(self, step: Step) -> None:
        """Preempt paused sequences of step mode first, then those of the lowest rank."""
        self._preempt(max(self.running, key=_by_need), step)

    def _preempt(self, victim: Sequence, step: Step) -> None:
        step.notes.append(Preempted(victim, victim.num_computed_tokens, len(victim.block_table)))
        self.blocks.release(victim.block_table)
        victim.preempt()
        self.running.remove(victim)
        self.waiting.append(victim)

    def _turn(self, sequence: Sequence) -> tuple[int, int, int]:
        priority = 0 if self._num_steps % _PRIORITY_BREAK == 0 else sequence.request.priority
        return (-priority, self._service.served(sequence.principal), sequence.arrival)

    def shrink(self, num_rows: int) -> bool:
        """Halve the limits after a step of num_rows rows too large for memory. Return whether that was possible."""
        self._shrunk, self._num_good_steps = max(1, num_rows // 2), 0
        return num_rows > 1

    def recover(self) -> None:
        """Count a successful step. After enough of them a shrunk batch may double."""
        if self._shrunk is None:
            return
        self._num_good_steps += 1
        if self._num_good_steps >= _RECOVERY_STEPS:
            grown, self._num_good_steps = 2 * self._shrunk, 0
            self._shrunk = grown if grown < self._limits.token_budget else None

    def store(self, sequence: Sequence) -> list[Stored]:
        """Make its newly computed full blocks reusable: the input's for the time that the client asked for, the
        output's without a promise."""
        size, table = self.blocks.block_size, sequence.block_table
        num_full, num_input = sequence.num_computed_tokens // size, sequence.num_input_tokens // size
        start, sequence.num_stored_blocks = sequence.num_stored_blocks, num_full
        settled = min(sequence.num_settled_blocks, num_full)
        sequence.num_settled_blocks = max(sequence.num_settled_blocks, num_full)
        keys = sequence.block_keys(size)

        def store(first: int, end: int) -> list[Stored]:
            """Store the blocks of a part of the input: one entry for each class."""
            classes = groupby(range(first, max(first, end)), lambda index: sequence.block_ttl(index, size))
            return [self._store(table, keys, indices, ttl) for ttl, indices in classes]

        # A block is written once: computed again after a preemption, it is neither read nor written a second time.
        again = store(start, min(settled, num_input))
        written = store(max(start, settled), min(num_full, num_input))
        answer = self._store(table, keys, range(max(start, num_input), num_full), NO_TTL)
        for each in written:
            if each.ttl != NO_TTL:
                sequence.num_written_tokens[each.ttl] += len(each.indices) * size
        return [stored for stored in (*again, *written, answer) if stored.indices]

    def _store(self, table: list[int], keys: list[bytes], indices: Iterable[int], ttl: CacheTTL) -> Stored:
        part = list(indices)
        stored = self.blocks.store([table[index] for index in part], [keys[index] for index in part], ttl)
        return Stored(tuple(part[place] for place in stored), ttl)

    def remove_finished(self) -> list[Sequence]:
        """Take out and return the sequences that are done, running or still waiting; their blocks are free again."""
        finished = [s for s in (*self.running, *self.waiting) if s.status is Status.FINISHED]
        if finished:
            self.running = [s for s in self.running if s.status is not Status.FINISHED]
            self.waiting = [s for s in self.waiting if s.status is not Status.FINISHED]
        for sequence in finished:
            if sequence.finish_reason == "error":
                self.blocks.forget(sequence.block_table)
            self.blocks.release(sequence.block_table)
        return finished

    def check_integrity(self) -> None:
        """Raises AssertionError when a block is lost or owned by no running sequence."""
        self.blocks.check_integrity(sequence.block_table for sequence in self.running)
        assert not any(sequence.block_table for sequence in self.waiting)


def _active(sequences: list[Sequence]) -> list[Sequence]:
    """Return the sequences that take a place: all but those that step mode pauses."""
    return [sequence for sequence in sequences if not sequence.is_paused]


def _ready(sequences: list[Sequence]) -> list[Sequence]:
    """Return the sequences that a step may compute."""
    return [sequence for sequence in sequences if sequence.is_ready]


def _has_read(sequence: Sequence) -> bool:
    """Return whether its blocks hold its input but for the last token, which each sequence computes."""
    return sequence.num_computed_tokens >= sequence.num_input_tokens - 1


def _is_of_batch(sequence: Sequence) -> bool:
    """Return whether it has a priority below the usual one."""
    return sequence.request.priority < 0


def _by_need(sequence: Sequence) -> tuple[bool, bool, int, int]:
    """Return its place in the order of keeping blocks: one that step mode pauses gives them up first."""
    return (sequence.is_paused, *_rank(sequence))


def _rank(sequence: Sequence) -> tuple[bool, int, int]:
    """Return its place in the order of keeping blocks: priority, then age. Each preemption raises a sequence by one
    priority, so that it is not preempted for ever."""
    priority = sequence.request.priority
    return (_is_of_batch(sequence), -priority - sequence.num_preemptions, sequence.arrival)
