"""The step loop: schedule, run, sample, record. Knows nothing of queues, logs or threads: the caller owns those.

Serving in one method: see Engine.step.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from inference.engine.model_runner import ModelRunner
from inference.engine.scheduler import Scheduled, Scheduler
from inference.engine.sequence import Clock, Sequence, Status
from inference.engine.step_output import StepOutput
from inference.kernels.library import Kernels
from inference.models.decoder import load_decoder
from inference.models.packed_cache import PackedCache
from inference.models.source import open_model
from inference.protocol.events import AnyEvent, GrammarMasked, PrefillAdvanced, TokenSampled
from inference.protocol.request import FinishReason, GenerationRequest, Usage
from inference.sampling import vocabulary
from inference.sampling.errors import SamplingFailed
from inference.sampling.native_vocabulary import native_summarise
from inference.sampling.processors import Grammar
from inference.sampling.sampler import Sampler
from inference.sampling.vocabulary import Summarise

logger = logging.getLogger(__name__)


class PieceSource(Protocol):
    """What the engine needs of a tokenizer."""

    def piece(self, token: int) -> bytes:
        """The token's bytes; empty for control tokens."""

    def is_special(self, token: int) -> bool:
        """Whether it is a control token."""


class PromptTooLong(Exception):
    """The prompt leaves no room for an answer in the model's window."""


@dataclass
class _Slot:
    """A sequence with its sampler and the events of the current step."""

    sequence: Sequence
    sampler: Sampler
    events: list[AnyEvent] = field(default_factory=list)


class Engine:
    """Owns the scheduler and the model runner; one thread at a time may call it."""

    def __init__(
        self,
        runner: ModelRunner,
        pieces: PieceSource,
        scheduler: Scheduler | None = None,
        summarise: Summarise = vocabulary.summarise,
    ) -> None:
        self._runner = runner
        self._pieces = pieces
        self._summarise = summarise
        self._scheduler = scheduler or Scheduler()
        self._slots: dict[str, _Slot] = {}
        self.num_steps = 0
        config = runner.config
        self.window = config.context_length
        self.architecture = config.architecture
        self.quantization = config.quantization
        self.device = "cpu"
        self.compute = runner.compute

    @property
    def num_waiting(self) -> int:
        return len(self._scheduler.waiting)

    def num_ahead(self, request_id: str) -> int:
        """How many requests wait in front of this one. Any thread may call this."""
        waiting = [sequence.request.request_id for sequence in list(self._scheduler.waiting)]
        return waiting.index(request_id) if request_id in waiting else 0

    @property
    def num_running(self) -> int:
        return len(self._scheduler.running)

    def has_work(self) -> bool:
        return bool(self._slots)

    def submit(
        self, request: GenerationRequest, stop_ids: frozenset[int], clock: Clock, grammar: Grammar | None = None
    ) -> Sequence:
        """Queue a request. Raises PromptTooLong, EngineOverloaded, ValueError (no prompt, or ids out of range)."""
        self._check(request)
        sequence = Sequence(request, stop_ids, clock, self.window)
        self._scheduler.add(sequence)
        sampler = Sampler(request.params, request.prompt_ids, request.num_candidates, grammar, self._summarise)
        self._slots[request.request_id] = _Slot(sequence, sampler)
        return sequence

    def _check(self, request: GenerationRequest) -> None:
        num_tokens, vocab_size = len(request.prompt_ids), self._runner.config.vocab_size
        if not num_tokens or min(request.prompt_ids) < 0 or max(request.prompt_ids) >= vocab_size:
            raise ValueError(f"a prompt needs at least one token, all with ids from 0 to {vocab_size - 1}")
        if num_tokens >= self.window:
            raise PromptTooLong(f"the prompt has {num_tokens} tokens; the model's window holds {self.window}")
        if request.request_id in self._slots:
            raise ValueError(f"{request.request_id} is running already")

    def cancel(self, request_id: str) -> None:
        """End the request before the next step."""
        self.finish(request_id, "abort")

    def finish(self, request_id: str, reason: FinishReason) -> None:
        """End the request before the next step, for a reason found outside the engine."""
        if slot := self._slots.get(request_id):
            slot.sequence.finish(reason)

    def fail(self, request_id: str, message: str) -> None:
        """End the request with an error."""
        if slot := self._slots.get(request_id):
            slot.sequence.finish("error", message)

    def take_finished(self) -> list[StepOutput]:
        """Remove and report the sequences that are done."""
        outputs = []
        for sequence in self._scheduler.remove_finished():
            outputs.append(self._output(sequence))
            self._runner.release(sequence)
            del self._slots[sequence.request.request_id]
        return outputs

    def step(self) -> list[StepOutput]:
        """Schedule, run, sample; then report what happened to each sequence, ended ones included."""
        ended = self.take_finished()
        step = self._scheduler.schedule()
        self.num_steps += 1
        if step:
            self._compute(step)
        return ended + self._report(step) + self.take_finished()

    def _compute(self, step: list[Scheduled]) -> None:
        """Trouble ends the sequences of this step alone; what ended before it is still reported."""
        start = time.perf_counter_ns()
        try:
            self._advance(step, self._runner.run(step), start)
        except Exception:
            logger.exception("a step failed")
            for share in step:
                share.sequence.finish("error", "the engine failed; the worker's log has the details")

    def _advance(self, step: list[Scheduled], logits: list[NDArray[np.float32] | None], start: int) -> None:
        num_batched_tokens = sum(share.num_tokens for share in step)
        for share, row in zip(step, logits, strict=True):
            sequence = share.sequence
            was_prefilling = sequence.is_prefilling
            sequence.num_computed_tokens += share.num_tokens
            step_us = (time.perf_counter_ns() - start) // 1000
            if was_prefilling:
                sequence.prefill_us += step_us
                self._record_prefill(share, step_us, len(step), num_batched_tokens)
            else:
                sequence.decode_us += step_us
            if row is not None and sequence.status is Status.RUNNING:
                self._sample(sequence, row, step_us, len(step))

    def _record_prefill(self, share: Scheduled, step_us: int, num_sequences: int, num_batched_tokens: int) -> None:
        sequence = share.sequence
        end = sequence.num_computed_tokens
        self._slots[sequence.request.request_id].events.append(
            PrefillAdvanced(
                at=sequence.clock.at(),
                start=end - share.num_tokens,
                end=end,
                total=sequence.num_prompt_tokens,
                step_us=step_us,
                num_sequences=num_sequences,
                num_batched_tokens=num_batched_tokens,
            )
        )

    def _sample(self, sequence: Sequence, logits: NDArray[np.float32], step_us: int, batch_size: int) -> None:
        slot = self._slots[sequence.request.request_id]
        position = len(sequence.output_ids)
        try:
            sample = slot.sampler.sample(logits, sequence.output_ids)
        except SamplingFailed as error:
            sequence.finish("error", str(error))
            return
        if sample.grammar_us is not None:
            masked = GrammarMasked(
                at=sequence.clock.at(),
                position=position,
                num_allowed=sample.stages[0].num_candidates,
                duration_us=sample.grammar_us,
            )
            slot.events.append(masked)
        slot.events.append(
            TokenSampled(
                at=sequence.clock.at(),
                position=position,
                id=sample.id,
                piece=self._pieces.piece(sample.id),
                is_special=self._pieces.is_special(sample.id),
                logprob=sample.logprob,
                rank=sample.rank,
                entropy=sample.entropy,
                u=sample.u,
                low=sample.low,
                high=sample.high,
                log_normalizer=sample.log_normalizer,
                candidate_ids=sample.candidate_ids,
                candidate_logits=sample.candidate_logits,
                candidate_pieces=tuple(map(self._pieces.piece, sample.candidate_ids)),
                stages=sample.stages,
                step_us=step_us,
                batch_size=batch_size,
            )
        )
        sequence.accept(sample.id)

    def _report(self, step: list[Scheduled]) -> list[StepOutput]:
        alive = [share.sequence for share in step if share.sequence.status is Status.RUNNING]
        return [self._output(sequence) for sequence in alive]

    def _output(self, sequence: Sequence) -> StepOutput:
        slot = self._slots[sequence.request.request_id]
        events, slot.events = slot.events, []
        num_prefilled = min(sequence.num_computed_tokens, sequence.num_prompt_tokens)
        return StepOutput(
            request_id=sequence.request.request_id,
            events=events,
            usage=Usage(uncached_input=num_prefilled, output=len(sequence.output_ids)),
            finish_reason=sequence.finish_reason,
            message=sequence.message,
            prefill_us=sequence.prefill_us,
            decode_us=sequence.decode_us,
        )


def load_engine(
    path: Path,
    num_threads: int,
    pieces: PieceSource,
    on_progress: Callable[[float], None] = lambda _share: None,
    cache: PackedCache | None = None,
    kernels: Kernels | None = None,
) -> Engine:
    """Load a GGUF file or a Hugging Face folder; on_progress hears the share done, 0 to 1. Raises ModelFileError."""
    torch.set_num_threads(num_threads)
    decoder = load_decoder(open_model(path), on_progress, cache, kernels)
    summarise = vocabulary.summarise if kernels is None else native_summarise(kernels)
    return Engine(ModelRunner(decoder), pieces, summarise=summarise)
