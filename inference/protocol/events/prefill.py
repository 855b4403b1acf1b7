"""Events of the prefill: the chunks of the prompt. Knows nothing of the answer."""

from __future__ import annotations

from inference.protocol.events.base import Event


class PrefillAdvanced(Event, frozen=True, kw_only=True, tag="prefill.advanced"):
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
    num_batched_tokens: int | None
    """Tokens in the same step, over all sequences; None: not reported."""
