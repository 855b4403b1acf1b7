"""Events of a grammar: the tokens that a constraint left. Knows nothing of the constraint."""

from __future__ import annotations

from typing import ClassVar

from inference.protocol.events.base import GenerationEvent
from inference.protocol.events.shown import Shown


class GrammarMasked(GenerationEvent, frozen=True, kw_only=True, tag="grammar.masked"):
    """The constraint removed tokens before sampling."""

    position: int
    num_allowed: int
    duration_us: int

    unredacted: ClassVar = "position num_allowed duration_us"
    shown: ClassVar = Shown(
        is_mark=True,
        label="grammar left {num_allowed|token}",
        meaning="The grammar removed every token that could not continue a valid answer.",
    )
