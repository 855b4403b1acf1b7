"""The one thread that owns the engine; tasks submit to it and read from their own queue. Knows nothing of Celery."""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue

from msgspec.structs import replace

from inference.backends.backend import AlreadyRunning, Description, Job
from inference.engine.engine import Engine, PromptTooLong
from inference.engine.scheduling.scheduler import EngineOverloaded
from inference.engine.step_output import StepOutput
from inference.eventlog.event_log import EventLog
from inference.protocol.events import TokenSampled
from inference.protocol.failures import FailureCode
from inference.protocol.request import FinishReason, GenerationRequest, StepCommand, Usage
from inference.protocol.snapshot import Work
from inference.worker.cancel_flags import CancelFlags

logger = logging.getLogger(__name__)

_FIRST_TOKEN_S = 0.005
"""Longest wait of the next step until a request's first token is checked and logged.

Alone, the check and the log take half of that. Beside a step that uses every core they take twice as long.
"""
_IDLE_S = 0.2
"""Interval at which an idle thread checks whether it should stop."""

_MASK_S = 0.001
"""Interval at which an idle thread looks for a mask that is late."""

_HANG_S = 300.0
"""A step that takes longer never ends. The longest seen, a chunk of a long prompt on one slow core, took seconds."""

_DEVICE_LOST = "The computing device failed, so the inference worker stopped. Send the message again."


class EngineThread(threading.Thread):
    """Runs Engine.step as long as there is work; reads each request's cancel flag after each step.

    No flag is read before the first step, which would wait for the log. The site fences a request that it stops before
    its start.
    """

    def __init__(self, engine: Engine, log: EventLog, hang_s: float = _HANG_S) -> None:
        """hang_s: longest step."""
        super().__init__(name="engine", daemon=True)
        self._hang_s = hang_s
        self._step_began = float("inf")
        self.engine = engine
        self._flags = CancelFlags(log)
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._jobs: dict[str, Job] = {}
        self._claims = threading.Lock()
        self._is_stopping = threading.Event()
        self._farewell = ""

    @property
    def is_stopping(self) -> bool:
        return self._is_stopping.is_set()

    def is_alive(self) -> bool:
        """Return whether it runs. A thread counts as dead whose step has taken longer than any step may."""
        return super().is_alive() and time.monotonic() - self._step_began < self._hang_s

    @property
    def description(self) -> Description:
        engine = self.engine
        return Description(
            engine.device,
            engine.architecture,
            engine.quantization,
            engine.compute,
            cache_shape=engine.cache_shape,
        )

    @property
    def pulse(self) -> int:
        """Return the number of steps so far: it grows only while the engine runs."""
        return self.engine.num_steps

    def num_ahead(self, request_id: str) -> int:
        """Return the number of requests that wait in front of this one. Any thread may call this."""
        return self.engine.num_ahead(request_id)

    def num_cached(self, ids: tuple[int, ...], principal: str, model: str) -> int:
        """Return the number of this prompt's tokens in the prefix cache now. Any thread may call this."""
        return self.engine.num_cached(ids, principal, model)

    def work(self) -> Work:
        """Return what the engine does now, jobs that it has not seen yet included. Any thread may call this."""
        work = self.engine.work()
        known = {request.request_id for request in work.requests}
        jobs = [job for request_id, job in list(self._jobs.items()) if request_id not in known]
        unseen = tuple(job.account("waiting", num_computed=0) for job in jobs)
        return replace(work, num_waiting=(work.num_waiting or 0) + len(unseen), requests=work.requests + unseen)

    def submit(self, job: Job) -> None:
        """Queue a job for the engine. Any thread may call this. Raises AlreadyRunning."""
        request_id = job.request.request_id
        with self._claims:
            if running := self._jobs.get(request_id):
                raise AlreadyRunning(running.request)
            self._jobs[request_id] = job
        self._inbox.put(lambda: self._submit(job))

    def finish(self, request: GenerationRequest, reason: FinishReason) -> None:
        """End this attempt of a request before the next step. Any thread may call this."""
        self._inbox.put(lambda: self._finish(request, reason))

    def _finish(self, request: GenerationRequest, reason: FinishReason) -> None:
        job = self._jobs.get(request.request_id)
        if job is not None and job.request.attempt == request.attempt:
            self.engine.finish(request.request_id, reason)

    def take(self, request_id: str, command: StepCommand) -> None:
        """Apply a person's command to an answer. Any thread may call this."""
        self._inbox.put(lambda: self.engine.take(request_id, command))

    def stop(self, message: str) -> None:
        """End all requests with an error and stop the thread. Any thread may call this."""
        self._farewell = message
        self._is_stopping.set()

    def run(self) -> None:
        """Run until the thread is stopped, or its device is lost."""
        self._flags.start()
        while not self.is_stopping and not self.engine.is_device_lost:
            self.turn()
        self._fail_all(_DEVICE_LOST if self.engine.is_device_lost else self._farewell)

    def turn(self) -> None:
        """Take submitted jobs, make a step, end cancelled requests. The thread itself calls this."""
        self._take_commands()
        if self.engine.has_work():
            self._step_began = time.monotonic()
            self._step()
            self._step_began = float("inf")
        if self._jobs:
            self._cancel()

    def _take_commands(self) -> None:
        try:
            is_busy = self.engine.has_work() and not self.engine.is_stalled
            self._inbox.get(timeout=0 if is_busy else self._idle_s)()
            while not self._inbox.empty():
                self._inbox.get()()
        except Empty:
            pass

    @property
    def _idle_s(self) -> float:
        return _MASK_S if self.engine.is_awaiting_mask else _IDLE_S

    def _submit(self, job: Job) -> None:
        if self._jobs.get(job.request.request_id) is not job:  # refused while it waited in the inbox
            return
        try:
            if job.request.chat:
                raise ValueError("This worker's engine reads no pictures. Choose a model with vision.")
            self.engine.submit(job.request, job.stop_ids, job.clock, job.grammar, job.output_ids)
            if job.is_answer_asked:
                self.engine.take(job.request.request_id, StepCommand(position=0, ends_thinking=True))
        except PromptTooLong as error:
            self._refuse(job, "prompt_too_long", str(error))
        except EngineOverloaded as error:
            self._refuse(job, "overloaded", str(error))
        except ValueError as error:
            self._refuse(job, "internal", str(error))

    def _refuse(self, job: Job, code: FailureCode, message: str) -> None:
        self._deliver(StepOutput(job.request.request_id, [], Usage(), "error", message, code=code))

    def _step(self) -> None:
        try:
            outputs = self.engine.step()
            for output in outputs:
                self._deliver(output)
            self._wait_for_first_tokens(outputs)
        except Exception:
            logger.exception("the engine failed in a step")
            self._fail_all("the engine failed; the worker's log has the details")

    def _cancel(self) -> None:
        for request_id in self._flags.cancelled(list(self._jobs)):
            self.engine.cancel(request_id)

    def _wait_for_first_tokens(self, outputs: list[StepOutput]) -> None:
        """Wait until the readers have dealt with new requests' first tokens, which a next step would slow down."""
        deadline = time.monotonic() + _FIRST_TOKEN_S
        for output in outputs:
            job = self._jobs.get(output.request_id)
            if job and any(isinstance(event, TokenSampled) for event in output.events):
                job.is_first_out.wait(max(0, deadline - time.monotonic()))

    def _deliver(self, output: StepOutput) -> None:
        job = self._jobs[output.request_id]
        if output.finish_reason is not None:
            del self._jobs[output.request_id]
        job.outputs.put(output)

    def _fail_all(self, message: str) -> None:
        code: FailureCode = "worker_lost" if self.is_stopping or self.engine.is_device_lost else "internal"
        for request_id in list(self._jobs):
            self.engine.fail(request_id, message)
        for output in self.engine.take_finished():
            self._deliver(dataclasses.replace(output, code=code) if output.finish_reason == "error" else output)
        for job in list(self._jobs.values()):  # jobs in the inbox, and any that the engine no longer knows
            self._refuse(job, code, message)
