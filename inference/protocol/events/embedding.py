"""Events of an embedding: its texts' tokens, then its vectors. Knows nothing of the vectors' values."""

from __future__ import annotations

from typing import ClassVar

from inference.protocol.events.base import Event, Value
from inference.protocol.events.shown import Shown


class EmbeddedText(Value, frozen=True, kw_only=True):
    """One text that a call embeds."""

    text: str
    num_tokens: int
    """Its tokens, with the two that mark its ends."""

    unredacted: ClassVar = "num_tokens"


class EmbeddingTokenized(Event, frozen=True, kw_only=True, tag="embedding.tokenized"):
    """The texts became tokens of the embedding model."""

    texts: tuple[EmbeddedText, ...]
    """In the call's order."""
    num_tokens: int
    """Tokens of all texts."""
    duration_us: int
    """With the time in which other calls had the thread."""

    unredacted: ClassVar = "texts num_tokens duration_us"
    shown: ClassVar = Shown(
        lane="tokens",
        label="{num_tokens|token}",
        meaning="The embedding model reads each text alone.",
        replay_ms=600,
    )


class EmbeddingComputed(Event, frozen=True, kw_only=True, tag="embedding.computed"):
    """The model made one vector of each text. The vectors are in the answer alone."""

    model: str
    version: str
    """Version of the package with the model's weights."""
    device: str
    num_texts: int
    num_tokens: int
    num_dimensions: int
    """Numbers in each vector."""
    computed_us: int
    """Time in which the model computed."""
    duration_us: int
    """From the tokens to the last vector. It is longer than computed_us where other calls had turns between."""

    unredacted: ClassVar = "model version device num_texts num_tokens num_dimensions computed_us duration_us"
    shown: ClassVar = Shown(
        lane="prefill",
        label="{num_texts|vector} of {num_dimensions} numbers",
        meaning="The model reads each text once, and the mean over its tokens is the vector.",
        replay_ms=800,
    )
