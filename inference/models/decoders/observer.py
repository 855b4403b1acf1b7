"""The interface of observers of a forward pass. Serving passes None; probes pass one. Knows nothing of probes."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Observer(Protocol):
    """Receives values that the decoder does not write to afterwards."""

    def attended(self, layer: int, first: int, weights: Tensor) -> None:
        """Receive the attention of some of the step's tokens: weights [num_heads, num_tokens, num_keys], the keys from
        position first on. Rows sum to 1."""

    def passed(self, layer: int, residual: Tensor) -> None:
        """Receive the residual stream after the layer, [num_tokens, hidden_size] float32."""
