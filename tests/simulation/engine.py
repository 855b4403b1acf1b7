"""The simulated back end of a worker: the real scheduler, and a pure function in place of the model.

Gives way between steps, as the engine's thread does. Knows nothing of logs but the cancel flags.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from inference.backends.backend import AlreadyRunning, Description, Job
from inference.engine.scheduling.block_manager import BlockManager
from inference.engine.scheduling.prefix_cache import LruPrefixCache
from inference.engine.scheduling.scheduler import Limits, Scheduler
from inference.engine.scheduling.sequence import Sequence
from inference.engine.scheduling.step import Admitted
from inference.engine.step_output import StepOutput
from inference.eventlog.event_log import EventLog
from inference.protocol.events import AnyEvent, CacheLookedUp, TokenSampled
from inference.protocol.failures import FailureCode
from inference.protocol.request import FinishReason, GenerationRequest, StepCommand, Usage
from tests.simulation.questions import piece, token
from tests.simulation.world import Thread, World

BLOCK_SIZE = 4
WINDOW = 48
_LIMITS = Limits(max_num_running=3, max_num_waiting=8, token_budget=16, mixed_budget=8)


class StandInEngine:
    """A Backend of one simulated worker."""

    description = Description()

    def __init__(self, world: World, log: EventLog) -> None:
        self._world = world
        self._log = log
        blocks = BlockManager(WINDOW // BLOCK_SIZE, BLOCK_SIZE, LruPrefixCache(lambda: world.now))
        self._scheduler = Scheduler(blocks, _LIMITS)
        self._sequences: dict[str, Sequence] = {}
        self._jobs: dict[str, Job] = {}
        self._inbox: deque[Callable[[], None]] = deque()
        self._idle: Thread | None = None
        self._step_s = world.random.uniform(0.01, 0.15)
        self.errors = 0.0
        """The share of steps that fail."""
        self.computes: Callable[[str], None] = lambda _: None
        """Called with each request of a step: one may end the worker."""
        self.is_stopping = False
        self._is_over = False
        self._farewell = ""
        self.pulse = 0

    # What the tasks call.

    def is_alive(self) -> bool:
        return not self._is_over

    def num_ahead(self, request_id: str) -> int:
        return self._scheduler.num_ahead(request_id)

    def num_cached(self, ids: tuple[int, ...], root: bytes) -> int:
        return self._scheduler.num_cached(ids, root)

    def submit(self, job: Job) -> None:
        if running := self._jobs.get(job.request.request_id):
            raise AlreadyRunning(running.request)
        self._jobs[job.request.request_id] = job
        self._do(lambda: self._submit(job))

    def finish(self, request: GenerationRequest, reason: FinishReason) -> None:
        self._do(lambda: self._finish(request, reason))

    def take(self, request_id: str, command: StepCommand) -> None:
        """No simulated request is in step mode."""

    def stop(self, message: str) -> None:
        self.is_stopping = True
        self._farewell = message
        self._wake()

    # The engine's thread.

    def run(self) -> None:
        while not self.is_stopping:
            if not self._jobs and not self._inbox:
                self._idle = self._world.current
                self._world.park()
                self._idle = None
            self._world.pause(self._step_s)
            while self._inbox:
                self._inbox.popleft()()
            self._step()
            self._cancel()
        self._is_over = True
        for request_id in list(self._jobs):
            self._end(request_id, "error", [], self._farewell, "worker_lost")

    def _do(self, act: Callable[[], None]) -> None:
        self._inbox.append(act)
        self._wake()

    def _wake(self) -> None:
        if self._idle is not None:
            self._world.wake(self._idle)

    def _submit(self, job: Job) -> None:
        if self._jobs.get(job.request.request_id) is job:
            sequence = Sequence(job.request, job.stop_ids, job.clock, WINDOW)
            sequence.resume(job.output_ids)
            self._scheduler.add(sequence)
            self._sequences[job.request.request_id] = sequence

    def _finish(self, request: GenerationRequest, reason: FinishReason) -> None:
        job = self._jobs.get(request.request_id)
        if job is not None and job.request.attempt == request.attempt:
            self._sequences[request.request_id].finish(reason)

    def _cancel(self) -> None:
        if not self._jobs:
            return
        names = list(self._jobs)
        try:
            flags = self._log.is_cancelled(names)
        except Exception:  # as in the product: requests go on without them
            return
        for name, is_set in zip(names, flags, strict=True):
            if is_set and name in self._sequences:
                self._sequences[name].finish("abort")

    def _step(self) -> None:
        self.pulse += 1
        events: dict[str, list[AnyEvent]] = {}
        self._remove(events)
        step = self._scheduler.schedule()
        for note in step.notes:
            if isinstance(note, Admitted):
                events.setdefault(note.sequence.request.request_id, []).append(_looked_up(note))
        if self._world.chance(self.errors) and step.shares:
            step.shares[0].sequence.finish("error", "the engine failed in a step")
        for share in step.shares:
            self.computes(share.sequence.request.request_id)
            self._advance(share.sequence, share.num_tokens, bool(share.num_logits), events)
        self._scheduler.check_integrity()
        self._remove(events)
        for request_id, found in events.items():
            if job := self._jobs.get(request_id):  # else all were ended meanwhile
                job.outputs.put(StepOutput(request_id, found, Usage()))

    def _advance(
        self, sequence: Sequence, num_tokens: int, is_sampled: bool, events: dict[str, list[AnyEvent]]
    ) -> None:
        if sequence.finish_reason is not None:
            return
        sequence.advance(num_tokens)
        if is_sampled:
            position = len(sequence.answer_ids)
            chosen = token(sequence.request.prompt_ids, position)
            sequence.accept(chosen)
            event = sampled(sequence.clock.at(), position, chosen)
            events.setdefault(sequence.request.request_id, []).append(event)
        self._scheduler.store(sequence)

    def _remove(self, events: dict[str, list[AnyEvent]]) -> None:
        for sequence in self._scheduler.remove_finished():
            reason = sequence.finish_reason
            assert reason is not None
            request_id = sequence.request.request_id
            if self._sequences.pop(request_id, None) is sequence:
                found, usage = events.pop(request_id, []), sequence.usage()
                self._end(request_id, reason, found, sequence.message, "internal", usage)

    def _end(
        self,
        request_id: str,
        reason: FinishReason,
        events: list[AnyEvent],
        message: str,
        code: FailureCode,
        usage: Usage | None = None,
    ) -> None:
        output = StepOutput(request_id, events, usage or Usage(), reason, message, code=code)
        if job := self._jobs.pop(request_id, None):
            job.outputs.put(output)


def sampled(at: int, position: int, token_id: int) -> TokenSampled:
    return TokenSampled(
        at=at,
        position=position,
        id=token_id,
        piece=piece(token_id),
        logprob=None,
        rank=None,
        entropy=None,
        u=None,
        low=None,
        high=None,
        log_normalizer=None,
        candidate_ids=(),
        candidate_logits=(),
        candidate_pieces=(),
        processors=None,
        step_us=None,
        batch_size=None,
    )


def _looked_up(note: Admitted) -> CacheLookedUp:
    sequence = note.sequence
    num_full = sequence.num_input_tokens // BLOCK_SIZE
    num_hits = len(note.shared)
    return CacheLookedUp(
        at=sequence.clock.at(),
        block_size=BLOCK_SIZE,
        hits=tuple(index < num_hits for index in range(num_full)),
        num_cached_tokens=min(note.num_found_tokens, sequence.num_input_tokens),
    )
