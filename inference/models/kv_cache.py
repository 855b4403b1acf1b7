"""Keys and values of one sequence. Knows nothing of which tokens they belong to."""

from __future__ import annotations

import torch
from torch import Tensor

from inference.models.config import ModelConfig

_GROWTH = 256
"""Tokens added at the least when the cache is full; then it doubles."""


class SequenceKV:
    """[num_layers, num_kv_heads, capacity, head_dim] for keys and for values, grown as the sequence grows."""

    def __init__(self, config: ModelConfig, capacity: int) -> None:
        shape = (config.num_layers, config.num_kv_heads, capacity, config.head_dim)
        self.keys = torch.zeros(shape, dtype=torch.bfloat16)
        self.values = torch.zeros(shape, dtype=torch.bfloat16)
        self.num_tokens = 0

    def reserve(self, num_tokens: int) -> None:
        """Make room for this many tokens in all."""
        capacity = self.keys.shape[2]
        if num_tokens > capacity:
            extra = max(_GROWTH, capacity, num_tokens - capacity)
            self.keys = self._grown(self.keys, extra)
            self.values = self._grown(self.values, extra)

    @staticmethod
    def _grown(tensor: Tensor, extra: int) -> Tensor:
        shape = (*tensor.shape[:2], extra, tensor.shape[3])
        return torch.cat([tensor, torch.zeros(shape, dtype=tensor.dtype)], dim=2)

    @property
    def num_bytes(self) -> int:
        return 2 * self.keys.nbytes
