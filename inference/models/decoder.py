"""What every decoder offers, whatever computes it: token ids in, logits out. Knows nothing of scheduling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from inference.models.config import ModelConfig
from inference.models.kv_cache import KVCache
from inference.models.packed_cache import PackedCache
from inference.models.source import ModelSource


@dataclass(frozen=True)
class Chunk:
    """New tokens of one sequence."""

    ids: Sequence[int]
    start: int
    """Tokens of this sequence that are in the cache already."""
    block_table: Sequence[int]
    """The block of each BLOCK_SIZE tokens; covers start + len(ids)."""
    num_logits: int = 1
    """Logits wanted after the last so many tokens (0: the chunk ends inside a prompt)."""

    @property
    def end(self) -> int:
        return self.start + len(self.ids)


class Decoder(Protocol):
    """One model's weights and its forward pass; keeps no state between calls but the cache it is given."""

    config: ModelConfig
    compute: str
    """In which formats it multiplies, for people."""

    def forward(self, chunks: list[Chunk], kv: KVCache) -> NDArray[np.float32]:
        """Write every chunk's keys and values to its blocks; returns [sum of num_logits, vocab_size] in chunk order.

        Two chunks may share blocks that they read, never one that they write.
        """


def load_decoder(
    source: ModelSource,
    on_progress: Callable[[float], None] = lambda _share: None,
    cache: PackedCache | None = None,
    dtype: torch.dtype | None = None,
    device: str = "cpu",
) -> Decoder:
    """Read all weights, converted or from the cache; on_progress hears the share done, 0 to 1. Raises ModelFileError.

    dtype: of weights and products; None on a CPU: compact formats for few rows, the fastest dense type for many.
    """
    from inference.models.torch_decoder import TorchDecoder
    from inference.models.torch_weights import load_weights

    return TorchDecoder(source.config, load_weights(source, on_progress, cache, dtype, device))
