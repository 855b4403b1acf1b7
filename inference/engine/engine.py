"""The step loop: schedule, run, sample, record. Knows nothing of queues, logs or threads, which the caller owns.

Serving in one method: see Engine.step.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from inference.engine import record, stepping
from inference.engine.advancing import Advance
from inference.engine.computing import Results, StepComputer
from inference.engine.counters import Counters
from inference.engine.drafting.draft_model import DraftModel
from inference.engine.drafting.drafting import Drafting
from inference.engine.drafting.step_costs import StepCosts
from inference.engine.memory_errors import MemoryErrors
from inference.engine.model_runner import ModelRunner
from inference.engine.reading_times import ReadingTimes
from inference.engine.record import PieceSource, StepFacts
from inference.engine.scheduling.block_manager import BlockManager
from inference.engine.scheduling.prefix_cache import LruPrefixCache, PrefixCache, root_key
from inference.engine.scheduling.scheduler import DEFAULT_LIMITS, Limits, Scheduler
from inference.engine.scheduling.sequence import Sequence, Status
from inference.engine.scheduling.step import Evicted, Preempted, Step
from inference.engine.slot import Slot, Slots
from inference.engine.step_output import StepOutput
from inference.eventlog.clock import Clock
from inference.models.blocks import BYTES_PER_VALUE
from inference.protocol.events import CacheShape
from inference.protocol.failures import FailureCode
from inference.protocol.request import FinishReason, GenerationRequest, StepCommand
from inference.protocol.snapshot import Work
from inference.sampling import vocabulary
from inference.sampling.errors import SamplingFailed
from inference.sampling.processors import Grammar
from inference.sampling.sampler import Sampler
from inference.sampling.vocabulary import Summarise

logger = logging.getLogger(__name__)

_FAILED = "the engine failed; the worker's log has the details"


class PromptTooLong(Exception):
    """The prompt leaves no room for an answer in the model's window or in the cache."""


class Engine:
    """Owns the scheduler and the model runner; one thread at a time may call it."""

    def __init__(
        self,
        runner: ModelRunner,
        pieces: PieceSource,
        cache: PrefixCache | None = None,
        limits: Limits = DEFAULT_LIMITS,
        summarise: Summarise = vocabulary.summarise,
        has_drafts: bool = True,
        now_ns: Callable[[], int] = time.perf_counter_ns,
        draft_model: DraftModel | None = None,
    ) -> None:
        """now_ns: the clock by which steps are measured, to decide whether drafts pay. draft_model: guesses instead of
        prompt lookup."""
        self.runner = runner
        self._pieces = pieces
        blocks = BlockManager(runner.num_blocks, runner.block_size, cache or LruPrefixCache(time.monotonic))
        self._scheduler = Scheduler(blocks, limits)
        self._summarise = summarise
        self._times = ReadingTimes(runner.block_size)
        self._slots = Slots()
        self._counters = Counters()
        costs, memory_errors = StepCosts(), MemoryErrors(self._scheduler)
        self._computer = StepComputer(runner, self._slots, summarise, memory_errors, costs, self._times, now_ns)
        # Where a row's result depends on how many are computed beside it, a guess could change the answer.
        is_drafting = has_drafts and runner.is_batch_invariant
        self._drafting = Drafting(self._scheduler, self._slots, costs, draft_model, is_drafting)
        self.num_steps = 0
        self.is_stalled = False
        """True: the last step computed nothing, as those that run wait for masks and leave the others no room."""
        self.is_device_lost = False
        """True: every further step would fail, and only a new process can mend that."""
        config = runner.config
        self.window = min(config.context_length, runner.num_blocks * runner.block_size)
        self.architecture = config.architecture
        self.quantization = config.quantization
        self.cache_shape = CacheShape(
            num_layers=config.num_layers,
            num_heads=config.num_heads,
            num_kv_heads=config.num_kv_heads,
            head_dim=config.head_dim,
            bytes_per_value=BYTES_PER_VALUE,
            block_size=runner.block_size,
            num_blocks=runner.num_blocks,
        )
        self.device = runner.device
        self.compute = runner.compute

    @property
    def num_waiting(self) -> int:
        return len(self._scheduler.waiting)

    def num_ahead(self, request_id: str) -> int:
        """Return the number of requests that wait in front of this one. Any thread may call this."""
        return self._scheduler.num_ahead(request_id)

    def num_cached(self, ids: tuple[int, ...], principal: str, model: str) -> int:
        """Return the number of a prompt's tokens in the prefix cache now; it may change before the prompt comes.

        Any thread may call this. It reads one entry after the other, and changes none.
        """
        return self._scheduler.num_cached(ids, root_key(principal, model))

    @property
    def num_running(self) -> int:
        return len(self._scheduler.running)

    def work(self) -> Work:
        """Return what the engine does now, and its counters. Any thread may call this."""
        return self._counters.work(self._scheduler)

    def has_work(self) -> bool:
        """Return whether a step would do anything."""
        slots = list(self._slots.values())
        return any(slot.events or not slot.is_idle or slot.sequence.finish_reason for slot in slots)

    @property
    def is_awaiting_mask(self) -> bool:
        """True: a sequence waits for its grammar's mask, without a step."""
        return any(slot.sequence.is_awaiting_mask for slot in self._slots.values())

    def take(self, request_id: str, command: StepCommand) -> None:
        """Let the model answer now; or, in step mode, take the proposed token or another.

        A command for a token that was taken before is void.
        """
        slot = self._slots.get(request_id)
        if slot is not None and command.ends_thinking:
            slot.sampler.answer_now()
        elif slot is not None and slot.sequence.request.is_stepped:
            num_before = len(slot.sequence.output_ids)
            stepping.take(slot, command, self._pieces)
            self._counters.num_decode_tokens += len(slot.sequence.output_ids) - num_before

    def submit(
        self,
        request: GenerationRequest,
        stop_ids: frozenset[int],
        clock: Clock,
        grammar: Grammar | None = None,
        output_ids: tuple[int, ...] = (),
    ) -> Sequence:
        """Queue a request. Raises PromptTooLong, EngineOverloaded, ValueError (no prompt, or ids out of range).

        output_ids: the tokens that an earlier attempt sampled; the answer goes on after them.
        """
        sequence = Sequence(request, stop_ids, clock, self.window)
        self._check(sequence)
        sequence.resume(output_ids)
        sampler = Sampler(
            request.params,
            request.prompt_ids,
            request.num_candidates,
            grammar,
            self._summarise,
            self._pieces.piece,
            request.thinking,
        )
        self._scheduler.add(sequence)
        sampler.prepare(sequence.answer_ids)
        self._slots[request.request_id] = Slot(sequence, sampler)
        return sequence

    def _check(self, sequence: Sequence) -> None:
        request, ids = sequence.request, sequence.input_ids
        num_tokens, vocab_size = len(ids), self.runner.config.vocab_size
        if not request.prompt_ids or min(ids) < 0 or max(ids) >= vocab_size:
            raise ValueError(f"a prompt needs at least one token, all with ids from 0 to {vocab_size - 1}")
        if sequence.num_free_tokens <= 0 and num_tokens < self.window and not sequence.is_prewarming:
            raise ValueError(f"the answer so far has max_tokens tokens already, {len(request.kept_ids)}")
        if problem := request.params.id_problem(vocab_size):
            raise ValueError(str(problem))
        if num_tokens >= self.window:
            raise PromptTooLong(f"the prompt has {num_tokens} tokens; {self._limit()}")
        if request.request_id in self._slots:
            raise ValueError(f"{request.request_id} is running already")

    def _limit(self) -> str:
        if self.window == self.runner.config.context_length:
            return f"the model's window holds {self.window}, the answer included. Shorten it."
        return f"this worker's cache holds {self.window}, the answer included. Shorten it, or raise SIGHTGLASS_KV_MB."

    def check_integrity(self) -> None:
        """Raises AssertionError when a block is lost."""
        self._scheduler.check_integrity()

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
            outputs.append(self._slots.of(sequence).report())
            del self._slots[sequence.request.request_id]
            self._drafting.forget(sequence)
        return outputs

    def step(self) -> list[StepOutput]:
        """Schedule, run, sample; then report the events of each sequence, ended ones included."""
        ended = self.take_finished()
        for slot in self._slots.values():
            slot.resume()
        start_ns = self._drafting.draft()
        step = self._scheduler.schedule()
        self.num_steps += 1
        self._note(step)
        self.is_stalled = self.is_awaiting_mask and not step.shares
        if step.shares:
            self._note_batches(step)
            facts = StepFacts(len(step.shares), step.num_rows, start_ns or time.perf_counter_ns())
            self._compute(step, facts)
            self._counters.stepped(facts)
        return ended + self._report() + self.take_finished()

    def _note(self, step: Step) -> None:
        for note in step.notes:
            slot = self._slots.of(note.sequence)
            if not (isinstance(note, Evicted) and slot.has_evicted):
                slot.events.append(record.noted(note, self.runner.block_size, self._times))
            slot.has_evicted |= isinstance(note, Evicted)
            self._counters.noted(note)
            if isinstance(note, Preempted):
                self._drafting.forget(note.sequence)

    def _note_batches(self, step: Step) -> None:
        batch = record.batch(step.shares, self.num_waiting)
        for share in step.shares:
            slot, others = self._slots.of(share.sequence), batch.without(share.sequence)
            if others != slot.batch:
                slot.batch = others
                slot.events.append(record.composed(share.sequence, others))

    def _compute(self, step: Step, facts: StepFacts) -> None:
        """Compute the step. An error ends this step's sequences alone; those that ended before are still reported."""
        try:
            for results in self._computer.run(step):
                self._advance(results, facts)
        except Exception:
            logger.exception("a step failed")
            self._probe()
            code: FailureCode = "worker_lost" if self.is_device_lost else "internal"
            for share in step.shares:
                share.sequence.finish("error", _FAILED, code)

    def _probe(self) -> None:
        """Note a lost device. After some GPU errors every later call from this process fails too."""
        try:
            self.runner.wait()
        except RuntimeError:
            logger.exception("the device computes no more")
            self.is_device_lost = True

    def _advance(self, results: Results, facts: StepFacts) -> None:
        sequence = results.share.sequence
        slot, num_before = self._slots.of(sequence), len(sequence.output_ids)
        if sequence.is_prefilling:
            self._counters.num_prefill_tokens += results.share.num_tokens
        try:
            Advance(slot, results, facts, self._pieces, self._drafting.source).apply()
            slot.events += [record.stored(sequence, change) for change in self._scheduler.store(sequence)]
        except SamplingFailed as error:
            sequence.finish("error", str(error), error.code)
        except Exception:  # an error in one request must not end the others
            logger.exception("%s failed in a step", sequence.request.request_id)
            sequence.finish("error", _FAILED)
        self._counters.num_decode_tokens += len(sequence.output_ids) - num_before

    def _report(self) -> list[StepOutput]:
        slots = self._slots.values()
        return [slot.report() for slot in slots if slot.events and slot.sequence.status is not Status.FINISHED]
