"""Events of the thinking before an answer: its text, its end. Knows nothing of tags and of how they are found."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import GenerationEvent
from inference.protocol.events.shown import Shown


class ThinkingReleased(GenerationEvent, frozen=True, kw_only=True, tag="thinking.released"):
    """Text that the model thinks before its answer, and that the output guard let through. It has no tags."""

    text: str
    num_tokens: int
    """Generated tokens of the thinking so far, those of its tags included."""

    unredacted: ClassVar = "num_tokens"
    shown: ClassVar = Shown(
        lane="sampling",
        is_mark=True,
        meaning="The output check allowed these thoughts. They are shown apart from the answer.",
        scene="release",
        replay_ms=900,
    )


class ThinkingEnded(GenerationEvent, frozen=True, kw_only=True, tag="thinking.ended"):
    """The model has ended its thinking, or was made to."""

    num_tokens: int
    """Generated tokens of the thinking, those of its tags included. They count as output."""
    duration_us: int
    """Time from the first of these tokens to the last."""
    cause: Literal["model", "budget", "answer_now", "cut"]
    """model: it wrote the tag itself. budget, answer_now: the tag's tokens were forced. cut: the generation ended
    within the thinking."""

    unredacted: ClassVar = "num_tokens duration_us cause"
    shown: ClassVar = Shown(
        lane="sampling",
        is_mark=True,
        label="thinking ended after {num_tokens|token}: {cause}",
        meaning="The model ended its thinking with a tag, or the tag was forced.",
        scene="release",
        replay_ms=900,
    )


class AnswerAsked(GenerationEvent, frozen=True, kw_only=True, tag="thinking.answer_asked"):
    """The user wants the answer now: the worker ends the thinking, and so does a worker that takes over."""

    unredacted: ClassVar = ""
    shown: ClassVar = Shown(
        lane="sampling",
        is_mark=True,
        label="answer now",
        meaning="The user asked for the answer, so the tag that ends the thinking was forced.",
    )
