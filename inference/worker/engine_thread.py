"""The one thread that owns the engine; tasks submit to it and read from their own queue. Knows nothing of Celery."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from inference.engine.engine import Engine, PromptTooLong, StepOutput
from inference.engine.scheduler import EngineOverloaded
from inference.engine.sequence import Clock
from inference.eventlog.event_log import EventLog
from inference.protocol.request import FinishReason, GenerationRequest, Usage

logger = logging.getLogger(__name__)

_IDLE_S = 0.2
"""How often an idle thread looks whether it should stop."""


@dataclass(frozen=True)
class Job:
    """One submitted request; `outputs` receives a StepOutput per engine step, the last one with a finish reason."""

    request: GenerationRequest
    stop_ids: frozenset[int]
    clock: Clock
    outputs: SimpleQueue[StepOutput] = field(default_factory=SimpleQueue)


class EngineThread(threading.Thread):
    """Runs Engine.step as long as there is work; reads each running request's cancel flag before each step."""

    def __init__(self, engine: Engine, log: EventLog) -> None:
        super().__init__(name="engine", daemon=True)
        self.engine = engine
        self._log = log
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._jobs: dict[str, Job] = {}
        self._is_stopping = threading.Event()

    def submit(self, job: Job) -> None:
        """Any thread may call this."""
        self._inbox.put(lambda: self._submit(job))

    def finish(self, request_id: str, reason: FinishReason) -> None:
        """End a request before the next step. Any thread may call this."""
        self._inbox.put(lambda: self.engine.finish(request_id, reason))

    def stop(self, message: str) -> None:
        """End all requests with an error and stop the thread. Any thread may call this."""
        self._inbox.put(lambda: self._fail_all(message))
        self._is_stopping.set()

    def run(self) -> None:
        while not (self._is_stopping.is_set() and self._inbox.empty()):
            self._take_commands()
            if self.engine.has_work():
                self._step()

    def _take_commands(self) -> None:
        try:
            self._inbox.get(timeout=0 if self.engine.has_work() else _IDLE_S)()
            while not self._inbox.empty():
                self._inbox.get()()
        except Empty:
            pass

    def _submit(self, job: Job) -> None:
        request_id = job.request.request_id
        self._jobs[request_id] = job
        try:
            self.engine.submit(job.request, job.stop_ids, job.clock)
        except (PromptTooLong, EngineOverloaded, ValueError) as error:
            self._deliver(StepOutput(request_id, [], Usage(), "error", str(error)))

    def _step(self) -> None:
        try:
            self._read_cancel_flags()
            for output in self.engine.step():
                self._deliver(output)
        except Exception:
            logger.exception("the engine failed in a step")
            self._fail_all("the engine failed; the worker's log has the details")

    def _read_cancel_flags(self) -> None:
        ids = list(self._jobs)
        for request_id, is_cancelled in zip(ids, self._log.is_cancelled(ids), strict=True):
            if is_cancelled:
                self.engine.cancel(request_id)

    def _deliver(self, output: StepOutput) -> None:
        job = self._jobs[output.request_id]
        if output.finish_reason is not None:
            del self._jobs[output.request_id]
        job.outputs.put(output)

    def _fail_all(self, message: str) -> None:
        for request_id in list(self._jobs):
            self.engine.fail(request_id, message)
        for output in self.engine.take_finished():
            self._deliver(output)
