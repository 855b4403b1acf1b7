"""Reads from a log what earlier attempts of a generation left, so that a later one goes on there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

import msgspec

from inference.protocol.events import (
    AnswerAsked,
    CacheLookedUp,
    Frame,
    GenerationFinished,
    TextReleased,
    TextWithheld,
    ThinkingReleased,
    TokenSampled,
    first,
)
from inference.protocol.generations import of_generation
from inference.protocol.request import StepCommand, Usage


@dataclass(frozen=True)
class Resumption:
    """The answer so far, as its log has it."""

    tokens: tuple[TokenSampled, ...]
    """Tokens that were released, in order. A frame holds tokens together with their text."""
    text: str
    """Text of the answer that was released."""
    thought: str
    """Text of the thinking that was released."""
    is_answer_asked: bool
    """True: the user wants the thinking to end."""
    lookup: CacheLookedUp | None
    """The first look-up of the prompt: the input is billed as it was found then."""
    num_withheld: int
    """Tokens whose text was withheld. The answer has ended with them, unless there are none."""
    is_finished: bool
    """True: the generation is over, and only its report is missing."""

    def billed(self, usage: Usage, num_input: int) -> Usage:
        """Return the usage with the input as the first look-up found it: a lost worker makes no input dearer.

        num_input: tokens of the prompt and, of a fork, those that it kept.
        """
        if self.lookup is None or not self.tokens:
            return usage
        num_written = usage.cache_write_5m + usage.cache_write_1h
        num_cached = min(self.lookup.num_cached_tokens, num_input - num_written)
        uncached = num_input - num_written - num_cached
        return msgspec.structs.replace(usage, uncached_input=uncached, cache_read=num_cached)


def resumption_of(frames: Sequence[Frame], generation: int) -> Resumption:
    """Return what a request's frames tell of one generation."""
    events = of_generation((event for frame in frames for event in frame.events), generation)
    return Resumption(
        tokens=tuple(event for event in events if isinstance(event, TokenSampled)),
        text="".join(event.text for event in events if isinstance(event, TextReleased)),
        thought="".join(event.text for event in events if isinstance(event, ThinkingReleased)),
        is_answer_asked=any(isinstance(event, AnswerAsked) for event in events),
        lookup=first(events, CacheLookedUp),
        num_withheld=sum(event.num_tokens for event in events if isinstance(event, TextWithheld)),
        is_finished=any(isinstance(event, GenerationFinished) for event in events),
    )


def permitted(commands: Iterable[StepCommand], position: int) -> int | None:
    """Step mode: the number of tokens that the commands before `position` still let the answer take; None: all."""
    until: float = 0
    for command in commands:
        if command.position < position and command.num_tokens == 0:
            until = 0
        elif until <= command.position < position:
            until = inf if command.num_tokens is None else command.position + command.num_tokens
    return None if until == inf else int(max(0, until - position))
