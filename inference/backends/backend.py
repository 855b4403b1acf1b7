"""The contract between a request's task and its source of tokens: this worker's engine or a server elsewhere.

Knows nothing of how either makes tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Protocol

from inference.engine.step_output import StepOutput
from inference.eventlog.clock import Clock
from inference.grammar.grammar import Grammar
from inference.protocol.events import CacheShape
from inference.protocol.request import FinishReason, GenerationRequest, StepCommand
from inference.protocol.snapshot import Work, WorkerRequest, WorkState


class AlreadyRunning(Exception):
    """The same request is running; its second delivery must not disturb it."""

    def __init__(self, request: GenerationRequest) -> None:
        """request: the one that is running."""
        super().__init__(f"{request.request_id} is running already")
        self.request = request


@dataclass(frozen=True)
class Job:
    """One submitted request; `outputs` receives StepOutputs, the last one, and only it, with a finish reason."""

    request: GenerationRequest
    stop_ids: frozenset[int]
    clock: Clock
    grammar: Grammar | None = None
    """The constraint on the answer's form, for a back end that masks tokens itself."""
    output_ids: tuple[int, ...] = ()
    """Tokens of this answer that an earlier attempt sampled: output, of which none is sampled or billed again."""
    is_answer_asked: bool = False
    """True: its thinking, if it still thinks, ends with the next token."""
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    """The bytes of the request's pictures, by digest."""
    outputs: SimpleQueue[StepOutput] = field(default_factory=SimpleQueue)
    is_first_out: threading.Event = field(default_factory=threading.Event)
    """Set by the reader once it has dealt with the first token."""

    def account(self, state: WorkState | None, num_computed: int | None, num_output: int = 0) -> WorkerRequest:
        """Return the job as its worker's snapshot shows it."""
        request = self.request
        return WorkerRequest(
            request_id=request.request_id,
            attempt=request.attempt,
            accepted_unix_us=request.accepted_unix_us,
            state=state,
            num_prompt_tokens=len(request.prompt_ids) + len(request.kept_ids),
            num_computed_tokens=num_computed,
            num_output_tokens=num_output,
        )


@dataclass(frozen=True)
class Description:
    """The computing device and model, for generation.started; None where not known."""

    device: str | None = None
    architecture: str | None = None
    quantization: str | None = None
    compute: str | None = None
    server: str | None = None
    """Name and version of the server elsewhere; None: this worker's own engine."""
    cache_shape: CacheShape | None = None


class Backend(Protocol):
    """Takes jobs from any thread and delivers their outputs."""

    @property
    def description(self) -> Description: ...

    @property
    def is_stopping(self) -> bool: ...

    @property
    def pulse(self) -> int:
        """A number that grows as long as the back end is at work on its jobs."""

    def is_alive(self) -> bool: ...

    def num_ahead(self, request_id: str) -> int | None:
        """Return the number of requests that wait in front of this one; None: not known."""

    def num_cached(self, ids: tuple[int, ...], principal: str, model: str) -> int | None:
        """Return the number of this prompt's tokens that are in a cache now; None: not known."""

    def work(self) -> Work:
        """Return what the back end does now, and its counters."""

    def submit(self, job: Job) -> None:
        """Raises AlreadyRunning."""

    def finish(self, request: GenerationRequest, reason: FinishReason) -> None:
        """End this attempt of a request soon, for a reason found outside the back end."""

    def take(self, request_id: str, command: StepCommand) -> None:
        """Apply a person's command to an answer: to end its thinking, or in step mode."""

    def stop(self, message: str) -> None:
        """End all requests with an error and stop."""
