"""Runs arrivals through the real scheduler to their end. Knows nothing of models: the request gives a step's duration.

Deterministic: the same request gives the same run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from inference.engine.scheduling.block_manager import BlockManager
from inference.engine.scheduling.prefix_cache import LruPrefixCache, NoPrefixCache, PrefixCache
from inference.engine.scheduling.scheduler import Limits, Scheduler
from inference.engine.scheduling.sequence import Sequence
from inference.engine.scheduling.step import Admitted, Evicted, Preempted, Step
from inference.models.blocks import BLOCK_SIZE
from inference.protocol.request import CacheMark, GenerationRequest, SamplingParams
from inference.protocol.simulation import (
    MAX_STEPS,
    SimulatedArrival,
    SimulatedBlock,
    SimulatedNote,
    SimulatedShare,
    SimulatedStep,
    SimulatedStory,
    Simulation,
    SimulationRequest,
)


class CannotSimulate(Exception):
    """The request makes no sense; the message says why and what to do."""


class _NoClock:
    """A clock that is always 0: no component reads the time of a simulated sequence's events."""

    def at(self) -> int:
        return 0


@dataclass
class _Fate:
    """The progress of one request."""

    sequence: Sequence
    admitted_us: int = 0
    token_times: list[int] = field(default_factory=list)

    def story(self) -> SimulatedStory:
        times = self.token_times
        gaps = [later - sooner for sooner, later in pairwise(times)]
        return SimulatedStory(
            admitted_us=self.admitted_us,
            first_token_us=times[0],
            finished_us=times[-1],
            longest_gap_us=max(gaps, default=0),
            num_preemptions=self.sequence.num_preemptions,
            usage=self.sequence.usage(),
        )


class Simulator:
    """One run of one request."""

    def __init__(self, request: SimulationRequest) -> None:
        """Raises CannotSimulate."""
        if problem := request.problem():
            raise CannotSimulate(f"{problem}.")
        self._request = request
        self._now_us = 0
        cache: PrefixCache = LruPrefixCache(lambda: self._now_us / 1e6) if request.has_cache else NoPrefixCache()
        self._blocks = BlockManager(request.num_blocks, BLOCK_SIZE, cache)
        limits = Limits(
            max_num_running=request.max_num_running,
            token_budget=request.token_budget,
            mixed_budget=request.mixed_budget,
        )
        self._scheduler = Scheduler(self._blocks, limits)
        self._fates = [_Fate(_sequence(index, each, request)) for index, each in enumerate(request.arrivals)]
        self._index = {id(fate.sequence): index for index, fate in enumerate(self._fates)}
        self._map = _BlockMap(request.num_blocks, cache)

    def run(self) -> Simulation:
        """Run every step until all requests are answered. Raises CannotSimulate when they are too many."""
        arrivals = self._request.arrivals
        coming = sorted(range(len(arrivals)), key=lambda index: arrivals[index].at_us)
        steps: list[SimulatedStep] = []
        while coming or self._scheduler.waiting or self._scheduler.running:
            if not (self._scheduler.waiting or self._scheduler.running):
                self._now_us = max(self._now_us, arrivals[coming[0]].at_us)
            while coming and arrivals[coming[0]].at_us <= self._now_us:
                self._scheduler.add(self._fates[coming.pop(0)].sequence)
            if len(steps) == MAX_STEPS:
                raise CannotSimulate(
                    f"The run takes more than {MAX_STEPS:,} steps. Use fewer requests, fewer tokens, "
                    "or more requests in a step."
                )
            steps.append(self._step())
        stories = tuple(fate.story() for fate in self._fates)
        return Simulation(block_size=BLOCK_SIZE, steps=tuple(steps), stories=stories)

    def _step(self) -> SimulatedStep:
        start = self._now_us
        step = self._scheduler.schedule()
        shares = tuple(
            SimulatedShare(
                arrival=self._index[id(share.sequence)],
                num_tokens=share.num_tokens,
                is_prefill=share.sequence.is_prefilling,
            )
            for share in step.shares
        )
        notes = tuple(self._note(note) for note in step.notes)
        waiting = tuple(sorted(self._index[id(sequence)] for sequence in self._scheduler.waiting))
        self._now_us += self._request.step_us + self._request.token_us * step.num_rows
        self._compute(step)
        self._scheduler.remove_finished()
        changed, idle = self._map.take(self._scheduler.running) if self._request.has_blocks else ((), ())
        return SimulatedStep(
            at_us=start,
            duration_us=self._now_us - start,
            shares=shares,
            waiting=waiting,
            notes=notes,
            blocks=changed,
            idle=idle,
        )

    def _compute(self, step: Step) -> None:
        for share in step.shares:
            sequence = share.sequence
            index = self._index[id(sequence)]
            first = sequence.num_computed_tokens
            sequence.advance(share.num_tokens)
            self._map.write(index, sequence, first)
            if share.num_logits:
                sequence.accept(self._request.arrivals[index].answer[len(sequence.output_ids)])
                self._fates[index].token_times.append(self._now_us)
            self._scheduler.store(sequence)

    def _note(self, note: Admitted | Preempted | Evicted) -> SimulatedNote:
        index = self._index[id(note.sequence)]
        match note:
            case Admitted():
                fate = self._fates[index]
                if not fate.token_times and not note.sequence.num_preemptions:
                    fate.admitted_us = self._now_us
                return SimulatedNote(kind="admitted", arrival=index, num=note.num_found_tokens)
            case Preempted():
                return SimulatedNote(kind="preempted", arrival=index, num=note.num_blocks)
            case Evicted():
                return SimulatedNote(kind="evicted", arrival=index, num=len(note.blocks))


def _sequence(index: int, arrival: SimulatedArrival, request: SimulationRequest) -> Sequence:
    num_tokens = len(arrival.prompt) + len(arrival.answer)
    num_needed = -(-num_tokens // BLOCK_SIZE)
    if num_needed > request.num_blocks:
        raise CannotSimulate(
            f"Request {index + 1} needs {num_needed} blocks for its {num_tokens} tokens, and there are "
            f"{request.num_blocks}. Use fewer tokens or more blocks."
        )
    marks = () if arrival.ttl == "none" else (CacheMark(num_tokens=len(arrival.prompt), ttl=arrival.ttl),)
    generation = GenerationRequest(
        request_id=str(index),
        attempt=1,
        model="simulated",
        prompt_ids=arrival.prompt,
        params=SamplingParams(max_tokens=len(arrival.answer)),
        accepted_unix_us=0,
        principal=arrival.user,
        cache_marks=marks,
    )
    return Sequence(generation, frozenset(), _NoClock(), request.num_blocks * BLOCK_SIZE)


@dataclass(frozen=True)
class _Content:
    """The tokens in one block: their request, first position and number."""

    arrival: int
    start: int
    num_tokens: int


class _BlockMap:
    """The contents of all blocks, reported as changes."""

    def __init__(self, num_blocks: int, cache: PrefixCache) -> None:
        self._cache = cache
        self._contents: dict[int, _Content] = {}
        self._told = [_empty(block, 0) for block in range(num_blocks)]

    def write(self, index: int, sequence: Sequence, first: int) -> None:
        """Record the sequence's computed tokens from `first` on; blocks that it only reads stay their writer's."""
        end = sequence.num_computed_tokens
        for place in range(first // BLOCK_SIZE, -(-end // BLOCK_SIZE)):
            start = place * BLOCK_SIZE
            num_tokens = min(BLOCK_SIZE, end - start)
            self._contents[sequence.block_table[place]] = _Content(index, start, num_tokens)

    def take(self, running: list[Sequence]) -> tuple[tuple[SimulatedBlock, ...], tuple[int, ...]]:
        """Return the blocks changed since the last call, and the idle blocks in their order of eviction."""
        owners = Counter(block for sequence in running for block in sequence.block_table)
        idle = self._cache.idle_blocks()
        known = set(idle)
        now = [self._state(block, owners[block], known) for block in range(len(self._told))]
        changed = tuple(new for new, old in zip(now, self._told, strict=True) if new != old)
        self._told = now
        return changed, tuple(idle)

    def _state(self, block: int, num_owners: int, idle: set[int]) -> SimulatedBlock:
        content = self._contents.get(block)
        if content is None or not (num_owners or block in idle):
            self._contents.pop(block, None)
            return _empty(block, num_owners)
        return SimulatedBlock(
            block=block,
            state="owned" if num_owners else "cached",
            num_owners=num_owners,
            arrival=content.arrival,
            start=content.start,
            num_tokens=content.num_tokens,
        )


def _empty(block: int, num_owners: int) -> SimulatedBlock:
    """Return a block that is free, or owned by a sequence that has not written to it yet."""
    state: Literal["free", "owned"] = "owned" if num_owners else "free"
    return SimulatedBlock(block=block, state=state, num_owners=num_owners, arrival=None, start=0, num_tokens=0)
