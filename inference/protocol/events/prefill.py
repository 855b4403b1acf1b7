"""Events of the prefill: the chunks of the prompt. Knows nothing of the answer."""

from __future__ import annotations

from typing import ClassVar

from inference.protocol.events.base import GenerationEvent
from inference.protocol.events.shown import Shown


class PrefillAdvanced(GenerationEvent, frozen=True, kw_only=True, tag="prefill.advanced"):
    """One chunk of the prompt was computed."""

    start: int
    """First prompt token of the chunk."""
    end: int
    """One past the last."""
    total: int
    """Prompt tokens in all."""
    step_us: int
    """Duration of the engine step."""
    num_sequences: int | None
    """Sequences in the same step, this one included; None: not reported."""

    unredacted: ClassVar = "start end total step_us num_sequences"
    shown: ClassVar = Shown(
        lane="prefill",
        meaning="One engine step read these tokens of the prompt and kept their keys and values.",
        scene="prefill",
        replay_ms=1400,
    )
