"""Guesses the next tokens of running sequences with a second, smaller model. Knows nothing of the guesses' success.

The draft model of speculative decoding (arXiv 2211.17192, 2302.01318) is always greedy. The sampler decides which of
its guesses are kept (see draft.py), so the answer does not depend on it. The model has its own key/value
cache, and reads the tokens written since its last guess. Then it guesses token by token for all sequences together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from inference.engine.drafting.step_costs import StepCosts
from inference.engine.scheduling.block_manager import BlockManager, OutOfBlocks
from inference.engine.scheduling.prefix_cache import NoPrefixCache
from inference.engine.scheduling.sequence import Sequence
from inference.models.blocks import BLOCK_SIZE
from inference.models.decoder import Chunk, Decoder

_READ_BUDGET = 256
"""Tokens of long prompts that the draft model reads between two steps; the running answers wait for it."""


@dataclass
class _Reading:
    """The draft model's state of one sequence."""

    block_table: list[int] = field(default_factory=list)
    num_read: int = 0
    """Tokens of the sequence whose keys and values it has."""
    guesses: list[int] = field(default_factory=list)
    """The guessed tokens after those, right or not. The model has read all but the last."""


@dataclass
class _Turn:
    """One sequence in one round of guessing."""

    reading: _Reading
    num_wanted: int
    chunk: Chunk


class DraftModel:
    """A decoder with a cache of its own; one thread at a time may call it."""

    def __init__(self, decoder: Decoder[Any], num_blocks: int, now_ns: Callable[[], int]) -> None:
        """decoder: must have the tokens of the model that it guesses for."""
        self._decoder = decoder
        self._kv = decoder.build_cache(num_blocks)
        self._blocks = BlockManager(num_blocks, BLOCK_SIZE, NoPrefixCache())
        self._readings: dict[str, _Reading] = {}
        self._now_ns = now_ns
        self._costs = StepCosts()

    def us_per_guess(self, num_sequences: int) -> float:
        """Return the time of one guess for each of num_sequences sequences; 0 before the first few."""
        return self._costs.decode_us(num_sequences) or 0.0

    def propose(self, wanted: Iterable[tuple[Sequence, int]]) -> dict[str, tuple[int, ...]]:
        """Return guesses by request, at most as many as wanted (one or more); none for a text not yet read to the end.

        Raises MemoryError or RuntimeError, as the decoder does; the tokens already read stay read.
        """
        turns: dict[str, _Turn] = {}
        budget = _READ_BUDGET
        for sequence, num_wanted in wanted:
            if turn := self._turn(sequence, num_wanted, budget):
                turns[sequence.request.request_id] = turn
                budget -= len(turn.chunk.ids)
        running = list(turns.values())
        while running:
            self._guess(running)
            running = [turn for turn in running if 0 < len(turn.reading.guesses) < turn.num_wanted]
            for turn in running:
                turn.chunk = Chunk(turn.reading.guesses[-1:], turn.chunk.end, turn.reading.block_table)
        return {request_id: tuple(turn.reading.guesses) for request_id, turn in turns.items() if turn.reading.guesses}

    def _turn(self, sequence: Sequence, num_wanted: int, budget: int) -> _Turn | None:
        ids, end = sequence.ids, len(sequence.ids) + num_wanted
        reading = self._readings.setdefault(sequence.request.request_id, _Reading())
        # Of its last guesses those count as read that were right; the last token is read again in any case, also where
        # nothing was written since: its logits are needed.
        after = zip(reading.guesses[:-1], ids[reading.num_read : len(ids) - 1], strict=False)
        reading.num_read += sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], after))
        reading.num_read = min(reading.num_read, len(ids) - 1)
        reading.guesses = []
        pending = ids[reading.num_read :]
        if budget <= 0 or end > self._decoder.config.context_length:
            return None
        try:
            self._blocks.reserve(reading.block_table, reading.num_read, end)
        except OutOfBlocks:
            return None
        is_whole, is_prompt = len(pending) <= budget, reading.num_read < len(sequence.request.prompt_ids)
        chunk = Chunk(pending[:budget], reading.num_read, reading.block_table, int(is_whole), is_prompt)
        return _Turn(reading, num_wanted, chunk)

    def _guess(self, turns: list[_Turn]) -> None:
        """Run one step of the decoder: the next guess of all sequences read to the end."""
        start = self._now_ns()
        logits = self._decoder.forward([turn.chunk for turn in turns], self._kv)
        guesses = iter(logits.argmax(axis=-1).tolist())
        for turn in turns:
            if not turn.reading.guesses:
                turn.reading.num_read = turn.chunk.end
            if turn.chunk.num_logits:
                turn.reading.guesses.append(next(guesses))
        if all(len(turn.chunk.ids) == 1 for turn in turns):
            self._costs.add_decode(len(turns), (self._now_ns() - start) / 1000)

    def forget(self, request_id: str) -> None:
        """Drop the state of a request that has ended."""
        if reading := self._readings.pop(request_id, None):
            self._blocks.release(reading.block_table)
