"""Events of the prompt: its tokens. Knows nothing of the segments that they come from."""

from __future__ import annotations

from typing import ClassVar

from inference.protocol.events.base import GenerationEvent
from inference.protocol.events.shown import Shown
from inference.protocol.thinking import Thinking


class PromptTokenized(GenerationEvent, frozen=True, kw_only=True, tag="prompt.tokenized"):
    """The prompt as the model sees it."""

    tokenizer: str
    version: str
    """Hash of the tokenizer's definition."""
    ids: tuple[int, ...]
    pieces: tuple[bytes, ...]
    """Each token's own bytes (base64 in JSON)."""
    special: tuple[int, ...] = ()
    """Indices of the tokens that are control tokens."""
    lossy_bytes: int = 0
    """Bytes of the text that the vocabulary cannot express and that were therefore lost."""
    duration_us: int
    thinking: Thinking | None = None
    """The thinking with which the answer may begin, by the model's own template; None: there is none."""

    unredacted: ClassVar = "tokenizer version special lossy_bytes duration_us"
    shown: ClassVar = Shown(lane="tokens", scene="tokens", replay_ms=2400)
