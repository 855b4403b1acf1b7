"""The engine's report on one sequence after a step. Knows nothing of how it was computed."""

from __future__ import annotations

from dataclasses import dataclass

from inference.protocol.events import AnyEvent
from inference.protocol.failures import FailureCode
from inference.protocol.request import FinishReason, Usage


@dataclass(frozen=True)
class StepOutput:
    """The result of one step for one sequence."""

    request_id: str
    events: list[AnyEvent]
    usage: Usage
    finish_reason: FinishReason | None = None
    message: str = ""
    prefill_us: int | None = 0
    """None: not known, as for a server elsewhere that does not tell."""
    decode_us: int | None = 0
    admitted_at: int | None = None
    """When the sequence was admitted, µs since acceptance; None: at the start of the first step."""
    is_cache_known: bool = True
    """True: `usage` tells cached prompt tokens from computed ones. False: it counts all as computed."""
    num_server_prompt_tokens: int | None = None
    """Of a prompt with pictures: its tokens as the server counts them; None: not known."""
    num_image_tokens: int | None = None
    """Those of them that the server counts for the pictures; None: not known."""
    code: FailureCode = "internal"
    """The reason of an error, for programs (see protocol.failures)."""
    num_output_told: int | None = None
    """Output tokens by the count of a server elsewhere, where it showed text without its tokens."""
