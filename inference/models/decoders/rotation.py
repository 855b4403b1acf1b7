"""Rotary positions (RoPE, arXiv 2104.09864). Knows nothing of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor


class Rotation:
    """The rotation of some tokens' heads, computed once for all layers that share it."""

    def __init__(
        self, frequencies: Sequence[float] | Tensor, positions: Tensor, pairing: Literal["adjacent", "halves"]
    ) -> None:
        """frequencies: [head_dim / 2] radians per position; positions: [num_tokens]."""
        turns = torch.as_tensor(frequencies, dtype=torch.float32, device=positions.device)
        angles = positions[:, None, None].float() * turns  # [num_tokens, 1, head_dim / 2]
        self._pairing = pairing
        self._turned = torch.polar(torch.ones_like(angles), angles)

    def __call__(self, heads: Tensor) -> Tensor:
        """heads: [num_tokens, num_heads, head_dim] float32 → the same, rotated."""
        if self._pairing == "adjacent":
            pairs = heads.reshape(*heads.shape[:2], -1, 2)
            return torch.view_as_real(torch.view_as_complex(pairs) * self._turned).flatten(2)
        turned = torch.complex(*heads.chunk(2, dim=-1)) * self._turned
        return torch.cat([turned.real, turned.imag], dim=-1)
