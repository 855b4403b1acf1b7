"""Counts the engine's work since its start, and tells what it does now. Changes no sequence.

The engine's thread alone writes. Any thread may read: each number is whole, and one may be a step older than another.
"""

from __future__ import annotations

from dataclasses import dataclass

from inference.engine.record import StepFacts
from inference.engine.scheduling.scheduler import Scheduler
from inference.engine.scheduling.sequence import Sequence, Status
from inference.engine.scheduling.step import Admitted, Evicted, Preempted
from inference.protocol.snapshot import KVBlocks, PrefixCacheCounters, StepCounters, Work, WorkerRequest, WorkState


@dataclass
class Counters:
    """See protocol.snapshot for each number's meaning."""

    num_steps: int = 0
    total_us: int = 0
    last_us: int = 0
    last_num_sequences: int = 0
    last_num_tokens: int = 0
    num_preemptions: int = 0
    num_prefill_tokens: int = 0
    num_decode_tokens: int = 0
    num_queried_tokens: int = 0
    num_hit_tokens: int = 0

    def stepped(self, facts: StepFacts) -> None:
        """Count a step that has just ended."""
        self.last_us = facts.step_us
        self.last_num_sequences, self.last_num_tokens = facts.num_sequences, facts.num_batched_tokens
        self.num_steps += 1
        self.total_us += self.last_us

    def noted(self, note: Admitted | Preempted | Evicted) -> None:
        """Count the scheduler's note."""
        if isinstance(note, Preempted):
            self.num_preemptions += 1
        elif isinstance(note, Admitted) and not note.sequence.num_preemptions:
            self.num_queried_tokens += note.sequence.num_input_tokens
            self.num_hit_tokens += note.num_found_tokens

    def work(self, scheduler: Scheduler) -> Work:
        """Return the work as it is now."""
        # A sequence may move from one list to the other while another thread reads them.
        sequences = {sequence.arrival: sequence for sequence in (*scheduler.running, *scheduler.waiting)}
        requests = sorted(map(_request, sequences.values()), key=lambda request: request.accepted_unix_us)
        states = [request.state for request in requests]
        return Work(
            num_running=states.count("prefill") + states.count("decode"),
            num_waiting=states.count("waiting"),
            num_paused=states.count("paused"),
            num_prefill_tokens=self.num_prefill_tokens,
            num_decode_tokens=self.num_decode_tokens,
            steps=StepCounters(
                num_steps=self.num_steps,
                total_us=self.total_us,
                last_us=self.last_us,
                last_num_sequences=self.last_num_sequences,
                last_num_tokens=self.last_num_tokens,
                num_preemptions=self.num_preemptions,
            ),
            blocks=_blocks(scheduler),
            cache=PrefixCacheCounters(self.num_queried_tokens, self.num_hit_tokens),
            requests=tuple(requests),
        )


def _blocks(scheduler: Scheduler) -> KVBlocks:
    blocks = scheduler.blocks
    num_available, num_cached = blocks.num_available, blocks.num_cached
    return KVBlocks(blocks.block_size, blocks.num_blocks, blocks.num_blocks - num_available, num_cached)


def _request(sequence: Sequence) -> WorkerRequest:
    request = sequence.request
    return WorkerRequest(
        request_id=request.request_id,
        attempt=request.attempt,
        accepted_unix_us=request.accepted_unix_us,
        state=_state(sequence),
        num_prompt_tokens=sequence.num_input_tokens,
        num_computed_tokens=sequence.num_computed_tokens,
        num_output_tokens=len(sequence.output_ids),
    )


def _state(sequence: Sequence) -> WorkState:
    if sequence.is_paused:
        return "paused"
    if sequence.status is Status.WAITING:
        return "waiting"
    return "prefill" if sequence.is_prefilling else "decode"
