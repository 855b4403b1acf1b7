"""Who may look at a forward pass while it is computed. Serving passes None; probes look."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Observer(Protocol):
    """Is shown values that the decoder does not write to afterwards."""

    def attended(self, layer: int, first: int, weights: Tensor) -> None:
        """Some of the step's tokens attended: weights [num_heads, num_tokens, num_keys], the keys from position first
        on. Rows sum to 1."""

    def passed(self, layer: int, residual: Tensor) -> None:
        """The residual stream after the layer, [num_tokens, hidden_size] float32."""
