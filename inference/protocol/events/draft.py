"""Events of drafts: guessed tokens and how many were right. Knows nothing of how tokens are guessed."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import GenerationEvent
from inference.protocol.events.shown import Shown

DraftSource = Literal["ngram", "draft_model"]


class DraftVerified(GenerationEvent, frozen=True, kw_only=True, tag="draft.verified"):
    """One pass checked guesses of the next tokens. The sampled tokens follow as events."""

    position: int
    """Index of the first guess in the answer."""
    ids: tuple[int, ...]
    """The guessed tokens. Guesses after a stop text are left out, as their tokens are."""
    pieces: tuple[bytes, ...] = ()
    """The guesses' bytes (base64 in JSON)."""
    num_accepted: int
    """Number of guesses, from the first on, that equal the sampled tokens. The others were computed for nothing."""
    source: DraftSource

    unredacted: ClassVar = "position num_accepted source"
    shown: ClassVar = Shown(
        is_mark=True,
        label="{num_accepted} of {ids|guess|guesses} accepted",
        meaning="The model checked these guesses in one pass. Accepted guesses cost no pass of their own.",
    )
