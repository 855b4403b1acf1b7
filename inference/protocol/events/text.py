"""Events of the answer's text: released or withheld. Knows nothing of tokens but their number."""

from __future__ import annotations

from typing import ClassVar

from inference.protocol.events.base import GenerationEvent
from inference.protocol.events.shown import Shown


class TextReleased(GenerationEvent, frozen=True, kw_only=True, tag="text.released"):
    """Text that the output guard let through: complete UTF-8, to be shown now."""

    text: str
    num_tokens: int
    """Generated tokens whose text has been released so far. Part of a character counts once the character is whole."""

    unredacted: ClassVar = "num_tokens"
    shown: ClassVar = Shown(
        lane="release",
        is_mark=True,
        meaning="The output check allowed this text, and the worker sent it to the browser.",
        scene="release",
        replay_ms=900,
    )


class TextWithheld(GenerationEvent, frozen=True, kw_only=True, tag="text.withheld"):
    """Text that the output guard stopped. Neither the text nor its tokens are in the log."""

    num_tokens: int
    """Number of tokens withheld."""
    category: str
    replacement: str
    """Text shown instead."""

    unredacted: ClassVar = "num_tokens category"
    shown: ClassVar = Shown(
        lane="release",
        is_mark=True,
        label="{num_tokens|token} withheld",
        meaning="The output check stopped this text, so it never left the worker.",
        scene="release",
        replay_ms=1600,
    )
