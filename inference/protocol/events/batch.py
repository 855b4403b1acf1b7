"""Events of the batch: the other sequences in this request's steps. Knows nothing of their texts and owners."""

from __future__ import annotations

from typing import ClassVar

from inference.protocol.events.base import Event
from inference.protocol.events.shown import Shown


class BatchComposed(Event, frozen=True, kw_only=True, tag="batch.composed"):
    """The other sequences in this request's steps, from this step until the next such event.

    The event holds numbers alone. It does not record which requests the others are.
    """

    decoding: tuple[int, ...]
    """Tokens of each other sequence that decodes: 1 plus its guesses; descending."""
    prefilling: tuple[int, ...]
    """Tokens of each other sequence's chunk of its prompt, descending."""
    num_waiting: int
    """Requests that wait for admission."""

    unredacted: ClassVar = "decoding prefilling num_waiting"
    shown: ClassVar = Shown(lane="queue")
