"""The shape of a decoder, read from a model file's metadata. Knows nothing of tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_LAYERS = 1024
MAX_WIDTH = 1 << 20
"""Of any dimension: far beyond every published model, small enough that a damaged header cannot ask for terabytes."""


@dataclass(frozen=True)
class ModelConfig:
    """What distinguishes one Llama-family decoder from another."""

    architecture: str
    num_layers: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    context_length: int
    rope_theta: float
    norm_eps: float
    quantization: str
    """The most frequent format of the file's matrices, e.g. Q4_1."""

    @property
    def num_groups(self) -> int:
        """Query heads that share one key/value head (grouped-query attention, arXiv 2305.13245)."""
        return self.num_heads // self.num_kv_heads

    def problem(self) -> str | None:
        """The first thing that no such decoder can have, for people; None if all is well."""
        return next((text for is_wrong, text in self._checks() if is_wrong), None)

    def _checks(self) -> list[tuple[bool, str]]:
        widths = (self.hidden_size, self.intermediate_size, self.vocab_size, self.context_length, self.num_heads)
        return [
            (not 1 <= self.num_layers <= MAX_LAYERS, f"{self.num_layers} layers"),
            (not all(1 <= width <= MAX_WIDTH for width in widths), f"a dimension out of 1 to {MAX_WIDTH}: {widths}"),
            (not 1 <= self.num_kv_heads <= self.num_heads, f"{self.num_kv_heads} key/value heads"),
            (self.num_heads % max(self.num_kv_heads, 1) != 0, "heads that do not share key/value heads evenly"),
            (self.head_dim < 2 or self.head_dim % 2 != 0, f"heads of {self.head_dim} numbers"),
            (self.num_heads * self.head_dim != self.hidden_size, "heads that do not fill the hidden size"),
            (not (math.isfinite(self.rope_theta) and self.rope_theta > 0), f"a rope base of {self.rope_theta}"),
            (not 0 < self.norm_eps < 1, f"a norm epsilon of {self.norm_eps}"),
        ]
