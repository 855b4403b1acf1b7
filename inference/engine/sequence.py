"""One request inside the engine. Knows nothing of tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from inference.protocol.request import FinishReason, GenerationRequest


class Status(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"


class Clock(Protocol):
    """Gives the time of an event."""

    def at(self) -> int:
        """µs since the request was accepted."""


@dataclass(eq=False)
class Sequence:
    """The mutable state of one generation."""

    request: GenerationRequest
    stop_ids: frozenset[int]
    clock: Clock
    window: int
    status: Status = Status.WAITING
    num_computed_tokens: int = 0
    """Tokens of prompt and output whose keys and values are in the cache."""
    output_ids: list[int] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    message: str = ""
    prefill_us: int = 0
    decode_us: int = 0

    @property
    def num_prompt_tokens(self) -> int:
        return len(self.request.prompt_ids)

    @property
    def is_prefilling(self) -> bool:
        return self.num_computed_tokens < self.num_prompt_tokens

    @property
    def next_ids(self) -> list[int]:
        """Tokens not yet computed: the rest of the prompt, or the token sampled last."""
        if self.is_prefilling:
            return list(self.request.prompt_ids[self.num_computed_tokens :])
        return self.output_ids[-1:]

    def accept(self, token: int) -> None:
        """Append a sampled token and decide whether it ends the sequence."""
        self.output_ids.append(token)
        if token in self.stop_ids:
            self.finish("stop")
        elif self._is_full:
            self.finish("length")

    @property
    def _is_full(self) -> bool:
        num_tokens = self.num_prompt_tokens + len(self.output_ids)
        return len(self.output_ids) >= self.request.params.max_tokens or num_tokens >= self.window

    def finish(self, reason: FinishReason, message: str = "") -> None:
        """The first reason stands."""
        if self.finish_reason is None:
            self.finish_reason = reason
            self.message = message
            self.status = Status.FINISHED
