"""One generation as its Celery task sees it: submit, forward releasable events to the log, finish.

The engine never waits for Redis or the classifier: both are called here, in the task's own thread.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from queue import Empty
from typing import Literal, NoReturn

import msgspec

from inference.backends.backend import AlreadyRunning, Backend, Job
from inference.engine.step_output import StepOutput
from inference.eventlog.clock import RequestClock
from inference.eventlog.event_log import EventLog
from inference.eventlog.pictures import MemoryPictures, Pictures
from inference.grammar.grammar import Grammars
from inference.protocol.events import (
    AnyEvent,
    BatchComposed,
    CacheLookedUp,
    DraftVerified,
    GenerationFinished,
    GenerationInterrupted,
    GenerationPreempted,
    GenerationQueued,
    GenerationResumed,
    GenerationStarted,
    GrammarMasked,
    PrefillAdvanced,
    RequestCancelled,
    TokenProposed,
    TokenSampled,
)
from inference.protocol.failures import Failure
from inference.protocol.generations import numbered
from inference.protocol.request import FinishReason, GenerationRequest, StepCommand, Usage
from inference.safety import Guard
from inference.tokenization.tokenizer import Tokenizer
from inference.tokenization.withheld_ids import known_ids
from inference.worker.journal import Journal
from inference.worker.output_guard import OutputGuard
from inference.worker.repetition import Repetition
from inference.worker.resumption import Resumption, permitted, resumption_of

_ALIVE_CHECK_S = 1.0
_COMMANDS_S = 0.04
"""Step mode: interval between reads of a person's commands; people do not notice so short a delay."""
_WAITING_S = 5.0
"""Interval at which a resumed answer says that it waits for its turn."""
_TAKE_OVER_S = 10.0
"""Longest wait for the end of an earlier attempt in the same worker."""
_IDLE_S = 600.0
"""Step mode: longest wait of an answer for a choice."""
_NO_CHOICE = "step mode: no choice for 10 minutes"


@dataclass(frozen=True)
class WorkerServices:
    """The parts of a loaded worker that its tasks use."""

    name: str
    backend: Backend
    tokenizer: Tokenizer
    grammars: Grammars
    guard: Guard
    log: EventLog
    pictures: Pictures = field(default_factory=MemoryPictures)
    resuming: threading.Lock = field(default_factory=threading.Lock, kw_only=True)
    """Held by one resumed answer at a time, until its log has a new token. So a sequence that ends each worker is
    resumed alone, and no other is blamed for it."""


class Interrupted(Exception):
    """The worker ends before the answer does; another attempt goes on."""


class Generation:
    """Runs one GenerationRequest to its end."""

    def __init__(
        self,
        services: WorkerServices,
        request: GenerationRequest,
        arrived_ns: int,
        alive_check_s: float = _ALIVE_CHECK_S,
        idle_s: float = _IDLE_S,
        claim: str = "",
    ) -> None:
        """Raises GrammarError, LogLost, PictureGone, RedisError.

        alive_check_s: interval between looks at the back end while it sends nothing.
        idle_s: in step mode, the longest wait for a choice.
        claim: the task's claim of the attempt.
        """
        self._services = services
        self._request = request
        self._alive_check_s = alive_check_s
        self._idle_us = idle_s * 1e6
        clock = RequestClock(request.accepted_unix_us)
        self._clock = clock
        self._arrived_at = clock.at() - (time.monotonic_ns() - arrived_ns) // 1000
        params = request.params
        stop_ids = services.tokenizer.eos_ids | set(params.stop_token_ids)
        self._journal = Journal(services.log, request.request_id, request.attempt, request.log_seq, claim)
        self._resumed = resumption_of(self._journal.read(), request.generation) if request.is_resumed else None
        output_ids = known_ids(self._resumed.tokens, services.tokenizer.encode) if self._resumed else ()
        is_asked = self._resumed is not None and self._resumed.is_answer_asked
        names = [part.image for message in request.chat for part in message.parts if part.image]
        pictures = services.pictures.take(request.request_id, request.attempt, names) if names else {}
        grammar = services.grammars.compile(params)
        self._job = Job(request, stop_ids, clock, grammar, output_ids, is_asked, pictures)
        self._guard = OutputGuard(
            services.guard if request.policy is None else services.guard.under(request.policy),
            clock,
            params.stop,
            request.is_guarded,
            params.stop_token_ids,
            request.principal,
            _repetition(request) if params.stop_on_repetition else None,
            request.thinking,
        )
        self._guard.keep(
            [services.tokenizer.piece(token) for token in request.kept_ids], request.kept_text, request.kept_thinking
        )
        if self._resumed:
            shown, thought = request.kept_text + self._resumed.text, request.kept_thinking + self._resumed.thought
            self._guard.resume(self._resumed.tokens, shown, self._resumed.num_withheld, thought)
        self._is_started = False
        self._is_waiting = True
        """True in the engine's queue: before the start, and again after a preemption."""
        self._is_preempted = False
        self._last_pulse = 0
        self._reported_at = clock.at()
        self._thinking_looked_at = clock.at()
        self._num_commands = 0
        self._last_command: StepCommand | None = None
        self._awaits_proposal = request.is_resumed
        """Step mode: a command is void before its token is proposed."""
        self._is_on_trial = False
        self._proposed_at = clock.at()
        """Step mode: the time since which the proposed token waits; only a chosen token ends the wait."""
        self._is_paused = False
        self._is_given_up = False

    def run(self) -> Failure | None:
        """Run the generation to its end; returns the failure, if any.

        Raises Interrupted when the worker ends first, Fenced when a later attempt has taken over, LogLost where the log
        lost events and cannot be repaired, AlreadyRunning when this one was delivered twice.
        """
        try:
            if self._resumed is None:
                return self._run()
            return None if self._resumed.is_finished else self._resume(self._resumed)
        finally:
            self._end_trial()
            if self._job.grammar is not None:
                self._job.grammar.close()

    def _resume(self, resumed: Resumption) -> Failure | None:
        """Go on after the last token in the log, alone until there is a new one."""
        while not self._services.resuming.acquire(timeout=self._alive_check_s):
            if self._services.backend.is_stopping:
                self._interrupt("stopped")
            if self._clock.at() > self._reported_at + _WAITING_S * 1e6:  # a silent request would count as lost
                self._reported_at = self._clock.at()
                self._append([GenerationQueued(at=self._reported_at, attempt=self._request.attempt, queue_depth=None)])
        self._is_on_trial = True
        if not self._services.backend.is_alive():
            self._interrupt("lost")
        request = self._request
        told = GenerationResumed(
            at=self._clock.at(), attempt=request.attempt, worker=self._services.name, num_tokens=len(resumed.tokens)
        )
        self._append([told])
        return self._run()

    def _end_trial(self) -> None:
        if self._is_on_trial:
            self._is_on_trial = False
            self._services.resuming.release()

    def _submit(self) -> None:
        """Submit, after the end of an earlier attempt that still runs here. Raises AlreadyRunning."""
        deadline = time.monotonic() + _TAKE_OVER_S
        while True:
            try:
                self._services.backend.submit(self._job)
                return
            except AlreadyRunning as error:
                if error.request.attempt >= self._request.attempt or time.monotonic() > deadline:
                    raise
                self._services.backend.finish(error.request, "abort")
                time.sleep(_COMMANDS_S)

    def _run(self) -> Failure | None:
        self._submit()
        self._end_early()
        try:
            while True:
                output = self._next()
                self._forward(output)
                self._apply_step_commands()
                self._end_thinking()
                if self._guard.num_tokens:
                    self._job.is_first_out.set()
                if output.finish_reason is not None:
                    return self._failure(output)
        except Exception:
            # No task would read the engine's further outputs.
            self._services.backend.finish(self._request, "abort")
            raise

    def _next(self) -> StepOutput:
        while True:
            try:
                timeout_s = _COMMANDS_S if self._request.is_stepped else self._alive_check_s
                return self._job.outputs.get(timeout=timeout_s)
            except Empty:
                self._apply_step_commands()
                if not self._services.backend.is_alive():
                    message = "The engine's thread has ended or hangs. Send the message again."
                    return StepOutput(self._request.request_id, [], Usage(), "error", message, code="worker_lost")
                self._report_waiting()

    def _end_thinking(self) -> None:
        """End the thinking once the user wants the answer. The log's commands are read a few times a second."""
        now = self._clock.at()
        is_due = now - self._thinking_looked_at > _COMMANDS_S * 1e6
        if self._request.is_stepped or not self._guard.is_thinking or not is_due:
            return
        self._thinking_looked_at = now
        request_id, generation = self._request.request_id, self._request.generation
        for command in self._services.log.commands(request_id, 0):
            if command.ends_thinking and command.generation == generation:
                self._services.backend.take(request_id, command)

    def _apply_step_commands(self) -> None:
        """Step mode: forward the person's commands; abort after 10 minutes without a choice."""
        if not self._request.is_stepped or self._awaits_proposal:
            return
        backend, request_id = self._services.backend, self._request.request_id
        for command in self._new_commands():
            self._num_commands += 1
            self._last_command = command
            if command.generation == self._request.generation:
                backend.take(request_id, command)
        is_forgotten = self._is_paused and self._clock.at() - self._proposed_at > self._idle_us
        if is_forgotten and not self._is_given_up:
            self._is_given_up = True
            cancelled = RequestCancelled(at=self._clock.at(), by=_NO_CHOICE)
            self._append([cancelled])
            backend.finish(self._request, "abort")

    def _new_commands(self) -> list[StepCommand]:
        """Return the commands since the last look; all, where the list was lost with its Redis and began again."""
        log, request_id = self._services.log, self._request.request_id
        found = log.commands(request_id, max(0, self._num_commands - 1))
        if not self._num_commands:
            return found
        if found and found[0] == self._last_command:
            return found[1:]
        self._num_commands = 0
        return log.commands(request_id, 0)

    def _take_up_commands(self, position: int) -> None:
        """Step mode, resumed: run on as far as the commands before the first proposal allow."""
        self._awaits_proposal = False
        generation = self._request.generation
        commands = self._services.log.commands(self._request.request_id, 0)
        self._num_commands = sum((each.generation, each.position) < (generation, position) for each in commands)
        self._last_command = commands[self._num_commands - 1] if self._num_commands else None
        own = [each for each in commands if each.generation == generation and not each.ends_thinking]
        num_tokens = permitted(own, position)
        if num_tokens != 0:
            command = StepCommand(position=position, num_tokens=num_tokens)
            self._services.backend.take(self._request.request_id, command)

    def _report_waiting(self) -> None:
        """Report the number of requests in front while the back end moves: a silent request would count as lost."""
        backend, request = self._services.backend, self._request
        pulse, now = backend.pulse, self._clock.at()
        if not self._is_waiting or pulse == self._last_pulse or now < self._reported_at + self._alive_check_s * 1e6:
            return
        self._last_pulse, self._reported_at = pulse, now
        depth = backend.num_ahead(request.request_id)
        queued = GenerationQueued(at=self._clock.at(), attempt=request.attempt, queue_depth=depth)
        self._append([queued])

    def _forward(self, output: StepOutput) -> None:
        if output.finish_reason == "error" and self._is_worker_lost(output):
            self._interrupt("stopped" if self._services.backend.is_stopping else "lost")
        events: list[AnyEvent] = [] if self._is_started or not output.events else [self._started(output)]
        proposed: TokenProposed | None = None
        for event in output.events:
            if isinstance(event, GenerationPreempted | CacheLookedUp):
                self._is_preempted = isinstance(event, GenerationPreempted)
            if isinstance(event, TokenSampled):
                self._guard.add(event)
                self._is_paused = False
            elif isinstance(event, TokenProposed):
                proposed = event
                self._is_paused = True
            elif isinstance(event, GrammarMasked | DraftVerified) or (
                isinstance(event, BatchComposed) and self._guard.num_tokens
            ):
                self._guard.add_note(event)
            else:
                events.append(event)
        if output.events:
            # A request that waits for a person's choice does not wait in the queue, even after a preemption.
            self._is_waiting = self._is_preempted and not self._is_paused
        if output.finish_reason is not None:
            events += [*self._guard.flush(), self._finished(output)]
        elif proposed is not None:
            events += self._guard.propose(proposed)
            self._proposed_at = self._clock.at()
            self._end_early()
            if self._awaits_proposal:
                self._take_up_commands(proposed.token.position)
        elif self._guard.is_due:
            events += self._guard.release()
            self._end_early()
        if events:
            self._append(events)

    def _append(self, events: list[AnyEvent]) -> None:
        """Append to the log, which is repaired where it lost events. Raises Fenced, LogLost.

        The one place that gives the events their generation's number: engine and guard do not know it.
        """
        self._journal.append([numbered(event, self._request.generation) for event in events])
        if any(isinstance(event, TokenSampled | TokenProposed) for event in events):
            self._end_trial()

    def _interrupt(self, cause: Literal["lost", "stopped"]) -> NoReturn:
        """Tell the log that this attempt is over, and that the answer is not. Raises Interrupted, Fenced, LogLost."""
        request, worker = self._request, self._services.name
        told = GenerationInterrupted(
            at=self._clock.at(), attempt=request.attempt, cause=cause, worker=worker, silent_us=0
        )
        self._append([told])
        raise Interrupted(cause)

    def _end_early(self) -> None:
        if self._guard.is_blocked:
            self._services.backend.finish(self._request, "content_filter")
        elif self._guard.is_stopped:
            self._services.backend.finish(self._request, "stop")
        elif self._guard.is_repeating:
            self._services.backend.finish(self._request, "repetition")

    def _started(self, output: StepOutput) -> GenerationStarted:
        self._is_started = True
        what = self._services.backend.description
        admitted_at = _admission(output)
        return GenerationStarted(
            at=admitted_at,
            worker=self._services.name,
            attempt=self._request.attempt,
            device=what.device,
            model=self._request.model,
            architecture=what.architecture,
            quantization=what.quantization,
            compute=what.compute,
            server=what.server,
            queued_us=admitted_at - self._arrived_at,
            cache_shape=what.cache_shape,
        )

    def _finished(self, output: StepOutput) -> GenerationFinished:
        assert output.finish_reason is not None
        request = self._request
        num_input = len(request.prompt_ids) + len(request.kept_ids)
        usage = self._resumed.billed(output.usage, num_input) if self._resumed else output.usage
        return GenerationFinished(
            at=self._clock.at(),
            finish_reason=self._reason(output.finish_reason),
            usage=msgspec.structs.replace(usage, output=self._num_output(output)),
            prefill_us=output.prefill_us,
            decode_us=output.decode_us,
            message=output.message,
            code=output.code if output.finish_reason == "error" else None,
            is_cache_known=output.is_cache_known,
            num_server_prompt_tokens=output.num_server_prompt_tokens,
            num_image_tokens=output.num_image_tokens,
        )

    def _num_output(self, output: StepOutput) -> int:
        """Return the tokens to pay for: none that the engine made before it learnt of the answer's end."""
        told = None if self._guard.is_over else output.num_output_told
        most = self._request.params.max_tokens - len(self._request.kept_ids)
        return min(self._guard.num_tokens if told is None else told, max(0, most))

    def _reason(self, reason: FinishReason) -> FinishReason:
        """Return the guard's decision, if any, also where the engine ended by itself in the same step."""
        if self._guard.is_blocked:
            return "content_filter"
        if self._guard.is_stopped:
            return "stop"
        return "repetition" if self._guard.is_repeating else reason

    def _is_worker_lost(self, output: StepOutput) -> bool:
        return output.code == "worker_lost" or self._services.backend.is_stopping

    def _failure(self, output: StepOutput) -> Failure | None:
        return Failure("generation", output.code, output.message) if output.finish_reason == "error" else None


def _repetition(request: GenerationRequest) -> Repetition:
    """Return the detector, fed with the answer so far."""
    repetition = Repetition()
    for token in request.kept_ids:
        repetition.add(token)
    return repetition


def _admission(output: StepOutput) -> int:
    if output.admitted_at is not None:
        return output.admitted_at
    first = output.events[0]
    return first.at - (first.step_us or 0) if isinstance(first, PrefillAdvanced | TokenSampled) else first.at
