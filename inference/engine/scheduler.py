"""Decides which tokens of which sequences the next step computes. Knows nothing of tensors or time.

Continuous batching (Orca, OSDI 2022) with chunked prefill (Sarathi, arXiv 2308.16369): every running sequence decodes
one token in every step, and what is left of the token budget goes to waiting prompts, first come first served, so that
a long prompt never stops the others' answers.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from inference.engine.sequence import Sequence, Status


class EngineOverloaded(Exception):
    """The waiting queue is full; the caller should try again later."""


@dataclass(frozen=True)
class Scheduled:
    """One sequence's share of a step."""

    sequence: Sequence
    num_tokens: int


class Scheduler:
    """First-come queue of waiting sequences and the list of running ones."""

    def __init__(self, max_num_running: int = 16, max_num_waiting: int = 256, token_budget: int = 256) -> None:
        self._max_num_running = max_num_running
        self._max_num_waiting = max_num_waiting
        self._token_budget = token_budget
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []

    def add(self, sequence: Sequence) -> None:
        """Raises EngineOverloaded when the queue is full."""
        if len(self.waiting) >= self._max_num_waiting:
            raise EngineOverloaded(f"{len(self.waiting)} requests are waiting already; try again in a while")
        self.waiting.append(sequence)

    def schedule(self) -> list[Scheduled]:
        """The next step's work: one token for each decoding sequence, then prompt chunks within the budget."""
        self._admit()
        decoding = [Scheduled(sequence, 1) for sequence in self.running if not sequence.is_prefilling]
        budget = self._token_budget - len(decoding)
        chunks = []
        for sequence in self.running:
            if sequence.is_prefilling and budget > 0:
                num_tokens = min(budget, sequence.num_prompt_tokens - sequence.num_computed_tokens)
                chunks.append(Scheduled(sequence, num_tokens))
                budget -= num_tokens
        return decoding + chunks

    def _admit(self) -> None:
        while self.waiting and len(self.running) < self._max_num_running:
            sequence = self.waiting.popleft()
            sequence.status = Status.RUNNING
            self.running.append(sequence)

    def remove_finished(self) -> list[Sequence]:
        """Take out and return the sequences that are done, running or still waiting."""
        finished = [s for s in (*self.running, *self.waiting) if s.status is Status.FINISHED]
        if finished:
            self.running = [s for s in self.running if s.status is not Status.FINISHED]
            self.waiting = deque(s for s in self.waiting if s.status is not Status.FINISHED)
        return finished
