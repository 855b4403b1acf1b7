"""Events of the batch: how many other sequences are in this request's steps. Knows nothing of what they compute.

The tokens per step of another sequence tell its text (arXiv 2411.01076), so no field depends on them.
"""

from __future__ import annotations

from typing import ClassVar

from inference.protocol.events.base import GenerationEvent
from inference.protocol.events.shown import Shown


class BatchComposed(GenerationEvent, frozen=True, kw_only=True, tag="batch.composed"):
    """The other sequences in this request's steps, from this step until the next such event.

    The event counts sequences alone. It records neither which requests they are nor their tokens.
    """

    num_decoding: int | None = None
    """Other sequences that decode. None, here and in the next field: not recorded."""
    num_prefilling: int | None = None
    """Other sequences whose prompt is read."""
    num_waiting: int
    """Requests that wait for admission."""

    unredacted: ClassVar = "num_decoding num_prefilling num_waiting"
    shown: ClassVar = Shown(lane="queue")
