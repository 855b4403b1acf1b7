"""Events of the answer's text: released or withheld. Knows nothing of tokens but their number."""

from __future__ import annotations

from inference.protocol.events.base import Event


class TextReleased(Event, frozen=True, kw_only=True, tag="text.released"):
    """Text that the output guard let through: complete UTF-8, to be shown now."""

    text: str
    num_tokens: int
    """Generated tokens whose text has been released so far (a token split over a character counts when it is whole)."""


class TextWithheld(Event, frozen=True, kw_only=True, tag="text.withheld"):
    """Text that the output guard stopped. Neither the text nor its tokens are in the log."""

    num_tokens: int
    """How many tokens were withheld."""
    category: str
    replacement: str
    """What is shown instead."""
