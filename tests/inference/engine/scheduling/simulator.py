"""Drives the scheduler with no model: a simulated clock, a cost model, and a check of every step."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from inference.engine.scheduling.block_manager import BlockManager
from inference.engine.scheduling.prefix_cache import LruPrefixCache
from inference.engine.scheduling.scheduler import EngineOverloaded, Limits, Scheduler
from inference.engine.scheduling.sequence import Sequence, Status
from inference.engine.scheduling.step import Admitted, Preempted, Step
from inference.protocol.request import CacheTTL, GenerationRequest
from tests.inference.engine.fakes import SetClock, StoppedClock, marks, request

BLOCK_SIZE = 4
STEP_S, PREFILL_S, DECODE_S = 0.004, 0.0003, 0.0006


@dataclass(frozen=True)
class Arrival:
    """One request to come."""

    at: float
    num_prompt: int
    num_output: int
    user: str = "alice"
    priority: int = 0
    beginning: str = ""
    """Prompts of one user with the same beginning share it."""
    ttl: CacheTTL = "none"
    num_answers: int = 1
    """Requests with this very prompt, which come at once."""


@dataclass
class Story:
    """How one request fared."""

    sequence: Sequence
    index: int
    """Of its arrival."""
    arrived_at: float
    admitted_at: float | None = None
    token_times: list[float] = field(default_factory=list)
    num_preemptions: int = 0
    num_kept: int = 0
    """Blocks that became reusable at the client's wish."""
    num_computed: int = 0
    """Prompt tokens, as often as they were computed."""

    @property
    def longest_gap(self) -> float:
        return max((b - a for a, b in zip(self.token_times, self.token_times[1:], strict=False)), default=0.0)


def to_request(index: int, answer: int, arrival: Arrival) -> GenerationRequest:
    generator = random.Random(arrival.beginning or index)
    ids = tuple(generator.randrange(1, 1000) for _ in range(arrival.num_prompt))
    return request(
        f"r{index}.{answer}",
        ids,
        arrival.num_output,
        principal=arrival.user,
        priority=arrival.priority,
        cache_marks=marks(ids, arrival.ttl),
    )


class Simulator:
    """Runs arrivals to their end."""

    def __init__(self, num_blocks: int, limits: Limits) -> None:
        self.now = SetClock()
        self.limits = limits
        self.scheduler = Scheduler(BlockManager(num_blocks, BLOCK_SIZE, LruPrefixCache(self.now)), limits)
        self.stories: dict[str, Story] = {}
        self.num_refused = 0
        self.window = num_blocks * BLOCK_SIZE

    def run(self, arrivals: list[Arrival], cancel: dict[int, float] | None = None) -> list[Story]:
        """cancel: arrival's index to the time of its cancellation."""
        coming = sorted(enumerate(arrivals), key=lambda pair: pair[1].at)
        leaving = sorted((at, f"r{index}.0") for index, at in (cancel or {}).items())
        while coming or self.scheduler.waiting or self.scheduler.running:
            if not (self.scheduler.waiting or self.scheduler.running):
                self.now.now = max(self.now.now, coming[0][1].at)
            while coming and coming[0][1].at <= self.now.now:
                index, arrival = coming.pop(0)
                for answer in range(arrival.num_answers):
                    self._arrive(index, answer, arrival)
            while leaving and leaving[0][0] <= self.now.now:
                if story := self.stories.get(leaving.pop(0)[1]):
                    story.sequence.finish("abort")
            self.scheduler.remove_finished()
            self._step()
        return list(self.stories.values())

    def _arrive(self, index: int, answer: int, arrival: Arrival) -> None:
        sequence = Sequence(to_request(index, answer, arrival), frozenset(), StoppedClock(), self.window)
        try:
            self.scheduler.add(sequence)
        except EngineOverloaded:
            assert len(self.scheduler.waiting) == self.limits.max_num_waiting
            self.num_refused += 1
        else:
            self.stories[sequence.request.request_id] = Story(sequence, index, arrival.at)

    def _step(self) -> None:
        decoding = [s for s in self.scheduler.running if not s.is_prefilling]
        step = self.scheduler.schedule()
        self._check(step, decoding)
        num_prefill = step.num_prefill_tokens
        self.now.now += STEP_S + PREFILL_S * num_prefill + DECODE_S * (step.num_rows - num_prefill)
        self._note(step)
        for share in step.shares:
            num_unread = share.sequence.num_input_tokens - share.sequence.num_computed_tokens
            self._story(share.sequence).num_computed += max(0, min(share.num_tokens, num_unread))
            share.sequence.advance(share.num_tokens)
            if share.num_logits:
                share.sequence.accept(len(share.sequence.output_ids) + 1)
                self._story(share.sequence).token_times.append(self.now.now)
            stored = self.scheduler.store(share.sequence)
            self._story(share.sequence).num_kept += sum(len(each.indices) for each in stored if each.ttl != "none")
        self.scheduler.remove_finished()
        self.scheduler.check_integrity()

    def _check(self, step: Step, decoding: list[Sequence]) -> None:
        scheduled = [share.sequence for share in step.shares]
        assert len(set(map(id, scheduled))) == len(scheduled)
        has_usual = any(sequence.request.priority >= 0 for sequence in scheduled)
        yielding = [each for each in decoding if has_usual and each.request.priority < 0 and each not in scheduled]
        is_mixed = len(decoding) > len(yielding)
        assert step.num_rows <= (self.limits.mixed_budget if is_mixed else self.limits.token_budget)
        # What was sent and what was generated are computed in different ways.
        assert all(share.num_rows <= (share.sequence.num_unread_tokens or share.num_rows) for share in step.shares)
        assert step.num_rows > 0 or not (self.scheduler.running or self.scheduler.waiting)
        assert len(self.scheduler.running) <= self.limits.max_num_running
        for sequence in decoding:  # no writing sequence is passed over, but those of batches while another runs
            assert sequence in scheduled or sequence.status is Status.WAITING or sequence in yielding
        for share in step.shares:
            sequence = share.sequence
            start = sequence.num_computed_tokens
            assert sequence.status is Status.RUNNING
            assert self.scheduler.blocks.is_exclusive(sequence.block_table, start, start + share.num_rows)

    def _note(self, step: Step) -> None:
        for note in step.notes:
            if isinstance(note, Preempted):
                self._story(note.sequence).num_preemptions += 1
            elif isinstance(note, Admitted) and self._story(note.sequence).admitted_at is None:
                self._story(note.sequence).admitted_at = self.now.now

    def _story(self, sequence: Sequence) -> Story:
        return self.stories[sequence.request.request_id]
