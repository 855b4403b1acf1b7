"""Folds a request's log into its generations, each with its attempts. Pure: events in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationFinished,
    GenerationForked,
    GenerationInterrupted,
    GenerationQueued,
    GenerationResumed,
    GenerationStarted,
    PromptTokenized,
    TextReleased,
    TextWithheld,
    ThinkingEnded,
    TokenSampled,
    first,
)
from inference.protocol.generations import by_number
from inference.protocol.request import FinishReason, Usage

AttemptEnd = Literal["finished", "lost", "stopped"]
_OF_AN_ATTEMPT = (GenerationQueued, GenerationResumed, GenerationStarted, GenerationInterrupted)


@dataclass(frozen=True)
class Attempt:
    """One worker's try at a generation."""

    number: int
    """Attempts count on through the request's generations."""
    worker: str | None
    """None: its engine did not begin."""
    end: AttemptEnd | None
    """None: it runs, or nothing tells how it ended."""


@dataclass(frozen=True)
class Generation:
    """One generation, as far as the log contains it."""

    number: int
    attempts: tuple[Attempt, ...]
    context: ContextAssembled | None
    prompt: PromptTokenized | None
    tokens: tuple[TokenSampled, ...]
    text: str
    """The text that was shown, a fork's beginning and a notice included."""
    num_thinking: int
    """Tokens of its thinking, which are a part of its output."""
    finished: GenerationFinished | None

    @property
    def finish_reason(self) -> FinishReason | None:
        return self.finished.finish_reason if self.finished else None

    @property
    def usage(self) -> Usage:
        return self.finished.usage if self.finished else Usage()


def generations_of(events: Sequence[AnyEvent]) -> tuple[Generation, ...]:
    """Return the generations of one request's events; a log without any has one, which is empty."""
    found = by_number(events) or {0: []}
    return tuple(_generation(number, found[number]) for number in sorted(found))


def total(usages: Iterable[Usage]) -> Usage:
    """Return the sum of the usages, kind by kind."""
    found = list(usages)
    return Usage(**{name: sum(getattr(usage, name) for usage in found) for name in Usage.__struct_fields__})


def _generation(number: int, events: Sequence[AnyEvent]) -> Generation:
    finished = first(events, GenerationFinished)
    return Generation(
        number=number,
        attempts=_attempts(events, finished is not None),
        context=first(events, ContextAssembled),
        prompt=first(events, PromptTokenized),
        tokens=tuple(event for event in events if isinstance(event, TokenSampled)),
        text="".join(map(_shown, events)),
        num_thinking=_num_thinking(events, finished),
        finished=finished,
    )


def _num_thinking(events: Sequence[AnyEvent], finished: GenerationFinished | None) -> int:
    """Tokens of the thinking. Another server counts its own output, which may be less than our tokens of its texts."""
    num = sum(event.num_tokens for event in events if isinstance(event, ThinkingEnded))
    return num if finished is None else min(num, finished.usage.output)


def _shown(event: AnyEvent) -> str:
    if isinstance(event, TextWithheld):
        return f"\n\n{event.replacement}"
    return event.text if isinstance(event, GenerationForked | TextReleased) else ""


def _attempts(events: Sequence[AnyEvent], is_finished: bool) -> tuple[Attempt, ...]:
    """Return the attempts in order; the last one finishes what is finished."""
    told = [event for event in events if isinstance(event, _OF_AN_ATTEMPT)]
    workers = {event.attempt: event.worker for event in told if isinstance(event, GenerationStarted)}
    ends: dict[int, AttemptEnd] = {e.attempt: e.cause for e in told if isinstance(e, GenerationInterrupted)}
    numbers = list(dict.fromkeys(event.attempt for event in told))
    if is_finished and numbers:
        ends[numbers[-1]] = "finished"
    return tuple(Attempt(number, workers.get(number), ends.get(number)) for number in numbers)
