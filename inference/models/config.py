"""The shape of a decoder, read from a model file's metadata. Knows nothing of tensors."""

from __future__ import annotations

from dataclasses import dataclass


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
