"""Attention of new tokens over keys and values that lie in blocks. Knows nothing of weights.

Grouped-query attention (arXiv 2305.13245) over a block table (PagedAttention, arXiv 2309.06180). Sequences of different
lengths stand one after another. Each attends over its own blocks alone, so nothing is padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from inference.models.blocks import BLOCK_SIZE
from inference.models.config import ModelConfig
from inference.models.decoder import Chunk
from inference.models.decoders.kv_cache import KVCache, block_rows, read_blocks
from inference.models.decoders.observer import Observer
from inference.models.decoders.rotation import Rotation

_TILE = 64
"""Queries of a prompt that attend at once: their scores stay in the second-level cache."""


@dataclass(frozen=True)
class _Place:
    """The place of one chunk's tokens in the step, and of the keys that they see in the cache."""

    rows: slice
    start: int
    """Position of the chunk's first token."""
    first: int
    """Position of the first key that is read."""
    block_rows: Tensor


class Layout(Protocol):
    """The places and rotations of one step's tokens, computed once for all layers."""

    def rotation(self, layer: int) -> Rotation:
        """Return this layer's rotation of the step's tokens."""

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Store the new keys and values, then attend; → [num_tokens, num_heads * head_dim].

        query: [num_tokens, num_heads, head_dim]; key, value: [num_tokens, num_kv_heads, head_dim]; all float32.
        """


class StepLayout:
    """A Layout for a CPU."""

    def __init__(
        self,
        chunks: Sequence[Chunk],
        config: ModelConfig,
        kv: KVCache,
        dtype: torch.dtype,
        observer: Observer | None = None,
    ) -> None:
        """dtype: of the products of prompts. Single tokens use float32: memory bounds them, not arithmetic."""
        self._config, self._kv, self._dtype, self._observer = config, kv, dtype, observer
        device = kv.keys.device
        positions = [torch.arange(chunk.start, chunk.end) for chunk in chunks]
        tables = [torch.tensor(chunk.block_table[: -(-chunk.end // BLOCK_SIZE)]) for chunk in chunks]
        slots = [table[own // BLOCK_SIZE] for table, own in zip(tables, positions, strict=True)]
        self._positions = torch.cat(positions).to(device)  # [num_tokens]
        self._blocks = torch.cat(slots).to(device)  # [num_tokens]
        self._offsets = self._positions % BLOCK_SIZE
        windows = {config.window_of(layer) for layer in range(config.num_layers)}
        self._places = {window: self._places_of(chunks, tables, window) for window in windows}
        self._rotations = {
            window: Rotation(config.rope_frequencies(window is not None), self._positions, config.rope_pairing)
            for window in windows
        }

    def _places_of(self, chunks: Sequence[Chunk], tables: list[Tensor], window: int | None) -> list[_Place]:
        places, row = [], 0
        for chunk, table in zip(chunks, tables, strict=True):
            first_block = 0 if window is None else max(chunk.start - window + 1, 0) // BLOCK_SIZE
            rows = block_rows(table[first_block:], self._config.num_kv_heads).to(self._positions.device)
            places.append(_Place(slice(row, row + len(chunk.ids)), chunk.start, first_block * BLOCK_SIZE, rows))
            row += len(chunk.ids)
        return places

    def rotation(self, layer: int) -> Rotation:
        return self._rotations[self._config.window_of(layer)]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """See Layout.attend; the result is float32."""
        keys, values, window = self._kv.keys[layer], self._kv.values[layer], self._config.window_of(layer)
        keys[self._blocks, :, self._offsets] = key.to(keys.dtype)
        values[self._blocks, :, self._offsets] = value.to(values.dtype)
        outputs = []
        for place in self._places[window]:
            rows = query[place.rows]
            kind = torch.float32 if len(rows) == 1 else self._dtype
            own_keys = read_blocks(keys, place.block_rows).to(kind)
            own_values = read_blocks(values, place.block_rows).to(kind)
            for tile in range(0, len(rows), _TILE):
                start = place.start + tile
                part = rows[tile : tile + _TILE]
                low = 0 if window is None else max(start - window + 1, 0)
                seen = slice(low - place.first if low > place.first else 0, start + len(part) - place.first)
                hidden = _hidden(len(part), seen.stop - seen.start, window, query.device)
                weights = self._weights(part, own_keys[:, seen], hidden)
                outputs.append(self._mix(weights, own_values[:, seen]))
                if self._observer is not None:
                    self._observer.attended(layer, place.first + seen.start, weights)
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs)

    def _weights(self, query: Tensor, keys: Tensor, hidden: Tensor | None) -> Tensor:
        """query: [n, num_heads, head_dim]; keys: [num_kv_heads, num_keys, head_dim], the newest last; → [num_heads, n,
        num_keys].

        Plain products: on a CPU scaled_dot_product_attention multiplies half precision in software and computes hidden
        keys too.
        """
        config, n, num_keys = self._config, query.shape[0], keys.shape[1]
        grouped = query.view(n, config.num_kv_heads, config.num_groups, -1).permute(1, 2, 0, 3)
        rows = (grouped * config.query_scale).reshape(config.num_kv_heads, -1, config.head_dim).to(keys.dtype)
        scores = torch.bmm(rows, keys.transpose(1, 2)).view(config.num_heads, n, num_keys)
        if (cap := config.attention_softcap) is not None:
            scores = scores.div_(cap).tanh_().mul_(cap)
        if hidden is not None:
            scores.masked_fill_(hidden, float("-inf"))
        return scores.softmax(-1)

    def _mix(self, weights: Tensor, values: Tensor) -> Tensor:
        """values: [num_kv_heads, num_keys, head_dim]; → [n, num_heads * head_dim] float32."""
        config, (_, n, num_keys) = self._config, weights.shape
        grouped = weights.view(config.num_kv_heads, -1, num_keys)
        mixed = torch.bmm(grouped, values).view(config.num_heads, n, config.head_dim)
        return mixed.transpose(0, 1).reshape(n, -1).float()


def _hidden(n: int, num_keys: int, window: int | None, device: torch.device) -> Tensor | None:
    """Return the keys that each of the newest n tokens must not see, [n, num_keys] bool; None if all see all."""
    if n == 1 and (window is None or num_keys <= window):
        return None
    # Distance from each token back to each key; the last key is the last token's own.
    back = torch.arange(num_keys - n, num_keys, device=device)[:, None] - torch.arange(num_keys, device=device)
    return back < 0 if window is None else (back < 0) | (back >= window)
