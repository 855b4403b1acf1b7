"""Attention of new tokens over keys and values that lie in blocks. Knows nothing of weights.

Grouped-query attention (arXiv 2305.13245) over a block table (PagedAttention, arXiv 2309.06180). Sequences of different
lengths stand one after another and each attends over its own blocks alone, so nothing is padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from inference.models.config import ModelConfig
from inference.models.decoder import Chunk
from inference.models.kv_cache import BLOCK_SIZE, KVCache, block_rows, read_blocks

_TILE = 64
"""Queries of a prompt attended to at once: their scores stay in the second-level cache."""


@dataclass(frozen=True)
class _Place:
    """Where one chunk's tokens stand in the step, and its blocks in the cache."""

    rows: slice
    start: int
    block_rows: Tensor


class StepLayout:
    """Where the tokens of one step lie, worked out once for all layers."""

    def __init__(self, chunks: Sequence[Chunk], config: ModelConfig, device: torch.device) -> None:
        self._config = config
        self._places: list[_Place] = []
        positions, slots, row = [], [], 0
        for chunk in chunks:
            own = torch.arange(chunk.start, chunk.end)
            table = torch.tensor(chunk.block_table[: -(-chunk.end // BLOCK_SIZE)])
            positions.append(own)
            slots.append(table[own // BLOCK_SIZE])
            rows = block_rows(table, config.num_kv_heads).to(device)
            self._places.append(_Place(slice(row, row + len(own)), chunk.start, rows))
            row += len(own)
        self.positions = torch.cat(positions).to(device)  # [num_tokens]
        self._blocks = torch.cat(slots).to(device)  # [num_tokens]
        self._offsets = self.positions % BLOCK_SIZE

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, kv: KVCache, dtype: torch.dtype) -> Tensor:
        """Store the new keys and values, then attend; → [num_tokens, num_heads * head_dim] float32.

        query: [num_tokens, num_heads, head_dim]; key, value: [num_tokens, num_kv_heads, head_dim]. Prompts multiply in
        dtype, single tokens in float32: they are bound by memory, not by arithmetic.
        """
        keys, values = kv.keys[layer], kv.values[layer]
        keys[self._blocks, :, self._offsets] = key.to(keys.dtype)
        values[self._blocks, :, self._offsets] = value.to(values.dtype)
        outputs = []
        for place in self._places:
            rows = query[place.rows]
            kind = torch.float32 if len(rows) == 1 else dtype
            own_keys = read_blocks(keys, place.block_rows).to(kind)
            own_values = read_blocks(values, place.block_rows).to(kind)
            for tile in range(0, len(rows), _TILE):
                part = rows[tile : tile + _TILE]
                outputs.append(self._attend_tile(part, own_keys, own_values, place.start + tile))
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs)

    def _attend_tile(self, query: Tensor, keys: Tensor, values: Tensor, start: int) -> Tensor:
        """query: [n, num_heads, head_dim] from position `start` on; keys, values: [num_kv_heads, all, head_dim].

        Plain products: on a CPU scaled_dot_product_attention multiplies half precision in software and computes what
        the mask hides.
        """
        config, n = self._config, query.shape[0]
        end = start + n
        grouped = query.view(n, config.num_kv_heads, config.num_groups, -1).permute(1, 2, 0, 3)
        rows = (grouped * config.head_dim**-0.5).reshape(config.num_kv_heads, -1, config.head_dim).to(keys.dtype)
        scores = torch.bmm(rows, keys[:, :end].transpose(1, 2)).view(config.num_heads, n, end)
        if n > 1:
            future = torch.ones(n, n, dtype=torch.bool, device=query.device).triu_(1)
            scores[..., start:].masked_fill_(future, float("-inf"))
        weights = scores.softmax(-1).view(config.num_kv_heads, -1, end)
        mixed = torch.bmm(weights, values[:, :end]).view(config.num_heads, n, config.head_dim)
        return mixed.transpose(0, 1).reshape(n, -1).float()
