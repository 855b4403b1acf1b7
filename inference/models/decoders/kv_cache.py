"""All sequences' keys and values, in blocks. Knows nothing of sequences, whose block tables list their blocks."""

from __future__ import annotations

import torch
from torch import Tensor

from inference.models.blocks import BLOCK_SIZE
from inference.models.config import ModelConfig


class KVCache:
    """keys and values: [num_layers, num_blocks, num_kv_heads, BLOCK_SIZE, head_dim]; the keys are already rotated.

    This class writes nothing at first, so that a CPU's system gives memory only as blocks are used.
    """

    def __init__(
        self, config: ModelConfig, num_blocks: int, dtype: torch.dtype = torch.float16, device: str = "cpu"
    ) -> None:
        shape = (config.num_layers, num_blocks, config.num_kv_heads, BLOCK_SIZE, config.head_dim)
        self.keys = torch.empty(shape, dtype=dtype, device=device)
        self.values = torch.empty(shape, dtype=dtype, device=device)
        self.num_blocks = num_blocks

    def copy_block(self, source: int, target: int) -> None:
        """Copy one block's keys and values in all layers, for a sequence that is about to write to a shared one."""
        self.keys[:, target] = self.keys[:, source]
        self.values[:, target] = self.values[:, source]


class PagedCache(KVCache):
    """A cache for steps of fixed shape: zeros at first, and one block more, which only padded rows write and read.

    A sequence's values in a block must not reach the next sequence: a mask hides a key by a weight of 0, and 0 times
    NaN is NaN.
    """

    def __init__(self, config: ModelConfig, num_blocks: int, dtype: torch.dtype, device: torch.device) -> None:
        super().__init__(config, num_blocks + 1, dtype, str(device))
        self.keys.zero_()
        self.values.zero_()
        self.num_blocks = self.spare_block = num_blocks

    def clear(self, blocks: Tensor) -> None:
        """Zero blocks that are about to be begun, and any values of a former sequence; [n] int64."""
        self.keys.index_fill_(1, blocks, 0)
        self.values.index_fill_(1, blocks, 0)


def read_blocks(layer: Tensor, rows: Tensor) -> Tensor:
    """Return one sequence's keys or values in a row, [num_kv_heads, its num_blocks * BLOCK_SIZE, head_dim].

    layer: [num_blocks, num_kv_heads, BLOCK_SIZE, head_dim]; rows: from block_rows. One copy, whole blocks at a time.
    """
    num_kv_heads, head_dim = layer.shape[1], layer.shape[3]
    flat = layer.view(-1, BLOCK_SIZE * head_dim)  # [num_blocks * num_kv_heads, BLOCK_SIZE * head_dim]
    return flat.index_select(0, rows).view(num_kv_heads, -1, head_dim)


def block_rows(block_table: Tensor, num_kv_heads: int) -> Tensor:
    """Return the rows of a layer, as [num_blocks * num_kv_heads, ...], that hold these blocks, head by head."""
    heads = torch.arange(num_kv_heads, device=block_table.device)
    return (block_table[None] * num_kv_heads + heads[:, None]).flatten()
