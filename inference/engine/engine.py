"""The step loop: schedule, run, sample, record. Knows nothing of queues, logs or threads: the caller owns those.

Serving in one method: see Engine.step.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inference.engine import record
from inference.engine.block_manager import DEFAULT_KV_BYTES, BlockManager
from inference.engine.draft import NO_GUESSES, Drafter, prices
from inference.engine.draft_model import DraftModel
from inference.engine.model_runner import ModelRunner
from inference.engine.prefix_cache import LruPrefixCache, PrefixCache, root_key
from inference.engine.reading_times import ReadingTimes
from inference.engine.record import PieceSource, StepFacts
from inference.engine.scheduler import DEFAULT_LIMITS, DEVICE_LIMITS, Limits, Preempted, Scheduled, Scheduler, Step
from inference.engine.sequence import Clock, Sequence, Status
from inference.engine.step_costs import StepCosts
from inference.engine.step_output import StepOutput
from inference.kernels.library import Kernels
from inference.models.blocks import BYTES_PER_VALUE
from inference.models.decoder import load_decoder
from inference.models.sources.source import ModelFileError, ModelSource, open_model
from inference.models.weights.packed_cache import PackedCache
from inference.protocol.events import AnyEvent, CacheShape, DraftSource, TokenProposed, TokenSampled
from inference.protocol.request import FinishReason, GenerationRequest, StepCommand
from inference.sampling import vocabulary
from inference.sampling.errors import SamplingFailed
from inference.sampling.native_vocabulary import native_summarise
from inference.sampling.processors import Grammar
from inference.sampling.sampler import NUM_SORTED, Sample, Sampler
from inference.sampling.vocabulary import Summarise, Summary

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "cublas_status_alloc_failed")
"""How torch says it, on a CPU and on a GPU."""
_MEMORY_TRIES, _MEMORY_PAUSE_S = 20, 0.05
"""What a step of one token waits for memory that somebody else may give back, before its request fails."""
_FAILED = "the engine failed; the worker's log has the details"


class PromptTooLong(Exception):
    """The prompt leaves no room for an answer in the model's window or in the cache."""


@dataclass
class _Slot:
    """A sequence with its sampler, its drafter and the events of the current step."""

    sequence: Sequence
    sampler: Sampler
    drafter: Drafter = field(default_factory=Drafter)
    events: list[AnyEvent] = field(default_factory=list)
    company: record.Batch | None = None
    """What its log was last told of who shares its steps."""
    proposal: _Proposal | None = None
    """Step mode: what waits to be taken."""


class _Proposal(NamedTuple):
    """A token that waits for a person's choice."""

    events: list[AnyEvent]
    """What is recorded of it; the token itself is the last."""
    logits: NDArray[np.float32]  # [vocab_size]


class _Row(NamedTuple):
    """What one token is sampled from."""

    logits: NDArray[np.float32]  # [vocab_size]
    summary: Summary


class _Results(NamedTuple):
    """What a share of a step gave."""

    share: Scheduled
    rows: list[_Row]
    """One per row of logits."""
    first: Sample | Exception | None
    """The token sampled from the first; why there is none; None where there are no rows."""


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
        self._runner = runner
        self._pieces = pieces
        blocks = BlockManager(runner.num_blocks, runner.block_size, cache or LruPrefixCache(time.monotonic))
        self._scheduler = Scheduler(blocks, limits)
        self._summarise = summarise
        # Where a row's result depends on how many are computed beside it, a guess could change the answer.
        self._has_drafts = has_drafts and runner.is_batch_invariant
        self._draft_model = draft_model
        self._now_ns = now_ns
        self._costs = StepCosts()
        self._times = ReadingTimes(runner.block_size)
        self._slots: dict[str, _Slot] = {}
        self._num_memory_failures = 0
        self.num_steps = 0
        self.is_device_lost = False
        """Every further step would fail, which only a new process can mend."""
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
        """How many requests wait in front of this one. Any thread may call this."""
        return self._scheduler.num_ahead(request_id)

    def num_cached(self, ids: tuple[int, ...], salt: str, model: str) -> int:
        """Tokens of a prompt that the prefix cache holds at this moment: it may be others when the prompt comes.

        Any thread may call this: it reads one entry after the other, and changes none.
        """
        return self._scheduler.num_cached(ids, root_key(salt, model))

    @property
    def num_running(self) -> int:
        return len(self._scheduler.running)

    def has_work(self) -> bool:
        """Whether a step would do anything: who waits for a person's choice needs none."""
        slots = list(self._slots.values())
        return any(slot.events or not slot.sequence.is_held or slot.sequence.finish_reason for slot in slots)

    def take(self, request_id: str, command: StepCommand) -> None:
        """Step mode: take the token proposed, or another. A command for a token that was taken before is void."""
        slot = self._slots.get(request_id)
        if slot is None or not slot.sequence.request.is_stepped:
            return
        sequence, proposal = slot.sequence, slot.proposal
        num_tokens = sequence.num_free_tokens if command.num_tokens is None else command.num_tokens
        if num_tokens == 0:
            sequence.num_permitted = 0
        elif proposal is not None and command.position == len(sequence.answer_ids):
            slot.proposal = None
            slot.events += self._chosen(sequence, proposal, command.token_id)
            sequence.is_held, sequence.num_permitted = False, num_tokens - 1

    def _chosen(self, sequence: Sequence, proposal: _Proposal, token_id: int | None) -> list[AnyEvent]:
        *notes, drawn = proposal.events
        assert isinstance(drawn, TokenSampled)
        choice = drawn.id if token_id is None else token_id
        rank, logit = vocabulary.rank(proposal.logits, choice), float(proposal.logits[choice])
        token = record.chosen(drawn, choice, logit, rank, sequence.clock.at(), self._pieces)
        sequence.accept(choice)
        return [*notes, token]

    def submit(
        self, request: GenerationRequest, stop_ids: frozenset[int], clock: Clock, grammar: Grammar | None = None
    ) -> Sequence:
        """Queue a request. Raises PromptTooLong, EngineOverloaded, ValueError (no prompt, or ids out of range)."""
        sequence = Sequence(request, stop_ids, clock, self.window)
        self._check(sequence)
        sampler = Sampler(
            request.params, request.prompt_ids, request.num_candidates, grammar, self._summarise, self._pieces.piece
        )
        self._scheduler.add(sequence)
        self._slots[request.request_id] = _Slot(sequence, sampler)
        return sequence

    def _check(self, sequence: Sequence) -> None:
        request, ids = sequence.request, sequence.prompt_ids
        num_tokens, vocab_size = len(ids), self._runner.config.vocab_size
        if not request.prompt_ids or min(ids) < 0 or max(ids) >= vocab_size:
            raise ValueError(f"a prompt needs at least one token, all with ids from 0 to {vocab_size - 1}")
        if sequence.num_free_tokens <= 0 and num_tokens < self.window:
            raise ValueError(f"the answer so far has max_tokens tokens already, {len(request.kept_ids)}")
        if problem := request.params.id_problem(vocab_size):
            raise ValueError(str(problem))
        if num_tokens >= self.window:
            raise PromptTooLong(f"the prompt has {num_tokens} tokens; {self._limit()}")
        if request.request_id in self._slots:
            raise ValueError(f"{request.request_id} is running already")

    def _limit(self) -> str:
        if self.window == self._runner.config.context_length:
            return f"the model's window holds {self.window}, the answer included. Shorten it."
        return f"this worker's cache holds {self.window}, the answer included. Shorten it, or raise SIGHTGLASS_KV_MB."

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
            outputs.append(self._output(self._slots[sequence.request.request_id]))
            del self._slots[sequence.request.request_id]
            if self._draft_model:
                self._draft_model.forget(sequence.request.request_id)
        return outputs

    def step(self) -> list[StepOutput]:
        """Schedule, run, sample; then report what happened to each sequence, ended ones included."""
        ended = self.take_finished()
        start_ns = self._draft()
        step = self._scheduler.schedule()
        self.num_steps += 1
        self._note(step)
        if step.shares:
            self._note_company(step)
            self._compute(step, StepFacts(len(step.shares), step.num_rows, start_ns or time.perf_counter_ns()))
        return ended + self._report() + self.take_finished()

    def _draft(self) -> int | None:
        """Guess ahead where that pays; when a draft model began with it, which is where the step begins."""
        decoding = self._scheduler.running if self._has_drafts and self._scheduler.has_room_for_drafts else []
        model, num = self._draft_model, len(decoding)
        step = prices(num, self._costs, model.us_per_guess(num) if model else 0.0) if decoding else NO_GUESSES
        # The last token needs no guess after it.
        wanted = [(each, self._slot(each).drafter.num_wanted(_num_guessable(each), step)) for each in decoding]
        if model is None:
            for sequence, num_wanted in wanted:
                sequence.drafts = self._slot(sequence).drafter.look_up(sequence.ids, num_wanted)
            return None
        start_ns = time.perf_counter_ns()
        asked = [(sequence, num_wanted) for sequence, num_wanted in wanted if num_wanted]
        guesses = self._guess(model, asked) if asked else {}
        for sequence, _ in wanted:
            sequence.drafts = guesses.get(sequence.request.request_id, ())
        return start_ns if asked else None

    def _guess(self, model: DraftModel, wanted: list[tuple[Sequence, int]]) -> dict[str, tuple[int, ...]]:
        """The draft model's guesses. Whatever is wrong with it, the step goes on without them."""
        try:
            return model.propose(wanted)
        except Exception as error:
            if is_out_of_memory(error):
                logger.warning("no memory to guess ahead: %s", error)
            else:
                logger.exception("the draft model failed; prompt lookup takes its place")
                self._draft_model = None
            return {}

    def _note(self, step: Step) -> None:
        for note in step.notes:
            event = record.noted(note, self._runner.block_size, self._times)
            self._slot(note.sequence).events.append(event)
            if isinstance(note, Preempted) and self._draft_model:
                self._draft_model.forget(note.sequence.request.request_id)

    def _note_company(self, step: Step) -> None:
        batch = record.batch(step.shares, self.num_waiting)
        for share in step.shares:
            slot, company = self._slot(share.sequence), batch.without(share)
            if company != slot.company:
                slot.company = company
                slot.events.append(record.composed(share.sequence, company))

    def _compute(self, step: Step, facts: StepFacts) -> None:
        """Trouble ends the sequences of this step alone; what ended before it is still reported."""
        try:
            for results in self._run(step):
                self._advance(results, facts)
        except Exception:
            logger.exception("a step failed")
            for share in step.shares:
                share.sequence.finish("error", _FAILED)
            self._probe()

    def _probe(self) -> None:
        """Some of a GPU's errors stay: whatever this process asks of it afterwards fails too."""
        try:
            self._runner.wait()
        except RuntimeError:
            logger.exception("the device computes no more")
            self.is_device_lost = True

    def _run(self, step: Step) -> list[_Results]:
        """What each share gave, up to its first token; nothing when memory ran out and less is to be tried."""
        self._runner.copy(step.copies)
        start = self._now_ns()
        try:
            rows = self._read_rows(step.shares, self._runner.run(step.shares))
            us = (self._now_ns() - start) / 1000
            # Before anybody advances, so that the step can be tried again.
            results = [self._first(share, list(islice(rows, share.num_logits))) for share in step.shares]
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            self._give_way(step, error)
            return []
        self._learn(step, us)
        self._scheduler.recover()
        self._num_memory_failures = 0
        return results

    def _give_way(self, step: Step, error: Exception) -> None:
        """Out of memory: go on with half of it. Nothing is lost, since no sequence has advanced."""
        logger.warning("no memory for a step of %d tokens: %s", step.num_rows, error)
        if not self._scheduler.shrink(step.num_rows):
            self._num_memory_failures += 1
            if self._num_memory_failures >= _MEMORY_TRIES:
                raise error
            time.sleep(_MEMORY_PAUSE_S)

    def _learn(self, step: Step, us: float) -> None:
        """Before the sequences advance."""
        if not step.num_prefill_tokens:
            self._costs.add_decode(step.num_rows, us)
        for copy in step.copies:
            self._times.copied(copy.source, copy.target)
        for share in step.shares:
            sequence = share.sequence
            table, start = sequence.block_table, sequence.num_computed_tokens
            if sequence.is_prefilling:
                self._times.read(table, start, share.num_tokens, us / step.num_rows)
            else:
                self._times.generated(table, start, share.num_rows)

    def _read_rows(self, shares: list[Scheduled], logits: NDArray[np.float32]) -> Iterator[_Row]:
        """All rows' summaries are made at once: together they take less time than one by one."""
        samplers = [(self._slot(share.sequence).sampler, share.num_logits) for share in shares]
        temperatures = [sampler.summary_temperature for sampler, num_logits in samplers for _ in range(num_logits)]
        return map(_Row, logits, self._summarise(logits, temperatures, NUM_SORTED) if temperatures else [])

    def _first(self, share: Scheduled, rows: list[_Row]) -> _Results:
        """Raises what says that memory ran out."""
        first = self._sample(share.sequence, rows[0]) if rows else None
        if isinstance(first, Exception) and is_out_of_memory(first):
            raise first
        return _Results(share, rows, first)

    def _sample(self, sequence: Sequence, row: _Row) -> Sample | Exception:
        """The next token, or why there is none. Changes nothing that would matter if it were asked again."""
        try:
            return self._slot(sequence).sampler.sample(row.logits, sequence.answer_ids, row.summary)
        except Exception as error:
            return error

    def _advance(self, results: _Results, facts: StepFacts) -> None:
        sequence = results.share.sequence
        try:
            self._advance_one(results, facts)
            self._store(sequence)
        except SamplingFailed as error:
            sequence.finish("error", str(error))
        except Exception:  # whatever is wrong with one request must not end the others
            logger.exception("%s failed in a step", sequence.request.request_id)
            sequence.finish("error", _FAILED)

    def _advance_one(self, results: _Results, facts: StepFacts) -> None:
        share, sequence = results.share, results.share.sequence
        was_prefilling = sequence.is_prefilling
        sequence.advance(share.num_tokens)
        if was_prefilling:
            sequence.prefill_us += facts.step_us
            self._slot(sequence).events.append(record.prefilled(share, facts))
        else:
            sequence.decode_us += facts.step_us
        if sequence.status is Status.RUNNING and results.first is not None:
            self._accept(results, facts)

    def _accept(self, results: _Results, facts: StepFacts) -> None:
        """The first token, and one more for each draft that proves to be the token sampled."""
        share, slot = results.share, self._slot(results.share.sequence)
        sequence, drafts = share.sequence, share.drafts
        at, position = sequence.clock.at(), len(sequence.answer_ids)
        events: list[AnyEvent] = []
        sample, num_accepted = results.first, 0
        if isinstance(sample, Sample) and sequence.request.is_stepped and not sequence.may_take():
            self._propose(slot, record.sampled(sequence, sample, facts, self._pieces), results.rows[0].logits)
            return
        while isinstance(sample, Sample):
            events += record.sampled(sequence, sample, facts, self._pieces)
            sequence.accept(sample.id)
            if num_accepted == len(drafts) or sample.id != drafts[num_accepted]:
                break
            num_accepted += 1
            if sequence.status is not Status.RUNNING:
                break
            sample = self._sample(sequence, results.rows[num_accepted])
            if isinstance(sample, Sample):
                sequence.advance(1)
        if isinstance(sample, Exception) and num_accepted and is_out_of_memory(sample):
            sample, drafts = None, drafts[:num_accepted]  # the others will be guessed again
        if sequence.status is not Status.RUNNING:
            drafts = drafts[: len(sequence.answer_ids) - position]  # nothing comes after its end
        if drafts:
            slot.drafter.verified(len(drafts), num_accepted)
            source: DraftSource = "draft_model" if self._draft_model else "ngram"
            slot.events.append(record.verified(at, position, drafts, num_accepted, self._pieces, source))
        slot.events += events
        if isinstance(sample, Exception):
            raise sample

    def _propose(self, slot: _Slot, events: list[AnyEvent], logits: NDArray[np.float32]) -> None:
        token = events[-1]
        assert isinstance(token, TokenSampled)
        slot.proposal = _Proposal(events, logits.copy())
        slot.events.append(TokenProposed(at=token.at, token=token))
        slot.sequence.is_held = True

    def _store(self, sequence: Sequence) -> None:
        slot = self._slot(sequence)
        slot.events += [record.stored(sequence, change) for change in self._scheduler.store(sequence)]

    def _slot(self, sequence: Sequence) -> _Slot:
        return self._slots[sequence.request.request_id]

    def _report(self) -> list[StepOutput]:
        slots = self._slots.values()
        return [self._output(slot) for slot in slots if slot.events and slot.sequence.status is not Status.FINISHED]

    def _output(self, slot: _Slot) -> StepOutput:
        sequence = slot.sequence
        events, slot.events = slot.events, []
        return StepOutput(
            request_id=sequence.request.request_id,
            events=events,
            usage=sequence.usage(),
            finish_reason=sequence.finish_reason,
            message=sequence.message,
            prefill_us=sequence.prefill_us,
            decode_us=sequence.decode_us,
        )


def _num_guessable(sequence: Sequence) -> int:
    """In step mode no token runs ahead of the one that is chosen."""
    return 0 if sequence.request.is_stepped else sequence.num_free_tokens - 1


def is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or any(text in str(error).lower() for text in _OUT_OF_MEMORY)


def load_engine(
    path: Path,
    num_threads: int,
    pieces: PieceSource,
    on_progress: Callable[[float], None] = lambda _share: None,
    cache: PackedCache | None = None,
    kernels: Kernels | None = None,
    kv_bytes: int = DEFAULT_KV_BYTES,
    has_drafts: bool = True,
    draft_path: Path | None = None,
    is_bitwise: bool = False,
    cuda: torch.device | None = None,
) -> Engine:
    """Load a GGUF file or a Hugging Face folder; on_progress hears the share done, 0 to 1. Raises ModelFileError.

    draft_path: a smaller model with the same tokenizer, to guess ahead. is_bitwise: see load_decoder. cuda: the GPU
    that computes; None: the CPU.
    """
    summarise = vocabulary.summarise if kernels is None else native_summarise(kernels)
    if cuda is not None:
        if draft_path:
            logger.warning("the draft model is not used: on a GPU a guess could change the answer")
        return _load_on_device(open_model(path), cuda, pieces, on_progress, kv_bytes, summarise)
    decoder = load_decoder(
        open_model(path), on_progress, cache, kernels, num_threads=num_threads, is_bitwise=is_bitwise
    )
    runner = ModelRunner(decoder, kv_bytes)
    draft_model = None
    if draft_path and not runner.is_batch_invariant:
        logger.warning("the draft model is not used: computed by PyTorch, a guess could change the answer")
    elif draft_path:
        smaller = load_decoder(open_model(draft_path), cache=cache, kernels=kernels, num_threads=num_threads)
        if smaller.config.vocab_size != decoder.config.vocab_size:
            raise ModelFileError(
                f"{draft_path} has embeddings of {smaller.config.vocab_size} tokens, {path} of "
                f"{decoder.config.vocab_size}; a draft model must have as many"
            )
        draft_model = DraftModel(smaller, runner.num_blocks, time.perf_counter_ns)
    return Engine(runner, pieces, summarise=summarise, has_drafts=has_drafts, draft_model=draft_model)


def _load_on_device(
    source: ModelSource,
    device: torch.device,
    pieces: PieceSource,
    on_progress: Callable[[float], None],
    kv_bytes: int,
    summarise: Summarise,
) -> Engine:
    """summarise: for what is not on the device."""
    # Imported here: with the kernels nothing needs torch.
    from inference.models.decoders.paged_decoder import load_paged
    from inference.sampling.device_vocabulary import device_summarise

    decoder = load_paged(source, device, on_progress)
    on_device = device_summarise(decoder.on_device, summarise)
    return Engine(ModelRunner(decoder, kv_bytes), pieces, limits=DEVICE_LIMITS, summarise=on_device)
