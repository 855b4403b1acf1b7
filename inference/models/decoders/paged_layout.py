"""Attention over blocks by tensors alone, so that a step of fixed shape never asks the host. Knows nothing of weights.

PagedAttention (arXiv 2309.06180) without a kernel of its own: it gathers a group's blocks, then calls PyTorch's
scaled_dot_product_attention. That reads keys and values three times where a paged kernel reads them once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from inference.models.blocks import BLOCK_SIZE
from inference.models.config import ModelConfig
from inference.models.decoders.kv_cache import PagedCache
from inference.models.decoders.rotation import Rotation


@dataclass(frozen=True)
class Group:
    """Sequences with equally many new tokens, which attend together."""

    positions: Tensor  # [num_sequences, num_tokens] int64, of the new tokens
    table: Tensor  # [num_sequences, num_blocks] int64; a sequence with fewer has its last again
    num_keys: int | None = None
    """Keys that the last token of a single sequence sees. None: the positions tell, by a mask."""


@dataclass(frozen=True)
class _View:
    """The keys and values that one group reads in layers with the same window."""

    rows: slice
    """The group's tokens in the step."""
    shape: tuple[int, int]
    """num_sequences, num_tokens"""
    block_rows: Tensor  # [num_sequences * num_kv_heads * num_blocks], of a layer as [num_blocks * num_kv_heads, ...]
    num_keys: int
    mask: Tensor | None
    """[num_sequences, 1, num_groups * num_tokens, num_keys], 0 or minus infinity. None: causal, and the last key is the
    last token's own."""


class PagedLayout:
    """A Layout."""

    def __init__(
        self,
        config: ModelConfig,
        groups: Sequence[Group],
        frequencies: Mapping[int | None, Tensor],
        kv: PagedCache,
    ) -> None:
        """groups: of the step's tokens in order. frequencies: of each window's rotation, [head_dim / 2] on the
        device."""
        self._config, self._kv = config, kv
        for group in groups:
            kv.clear(_begun(group, kv.spare_block))
        positions = torch.cat([group.positions.flatten() for group in groups])
        blocks = [group.table.gather(1, group.positions // BLOCK_SIZE).flatten() for group in groups]
        self._blocks, self._offsets = torch.cat(blocks), positions % BLOCK_SIZE
        self._rotations = {
            window: Rotation(turns, positions, config.rope_pairing) for window, turns in frequencies.items()
        }
        self._views = {window: self._views_of(groups, window) for window in frequencies}

    def _views_of(self, groups: Sequence[Group], window: int | None) -> list[_View]:
        views, row = [], 0
        for group in groups:
            rows = slice(row, row + group.positions.numel())
            views.append(self._view(group, window, rows))
            row = rows.stop
        return views

    def _view(self, group: Group, window: int | None, rows: slice) -> _View:
        positions, table = group.positions, group.table
        (num_sequences, num_tokens), num_blocks = positions.shape, table.shape[1]
        heads = torch.arange(self._config.num_kv_heads, device=table.device)
        first = torch.zeros_like(positions[:, :1])
        # Blocks in which a window can lie, wherever it begins.
        num_seen = num_blocks if window is None else (window + num_tokens - 2) // BLOCK_SIZE + 2
        if num_seen < num_blocks:
            assert window is not None
            first = (positions[:, :1] - window + 1).clamp_min(0) // BLOCK_SIZE
            columns = first + torch.arange(num_seen, device=table.device)
            table = table.gather(1, columns.clamp_max(num_blocks - 1))
        block_rows = (table[:, None] * self._config.num_kv_heads + heads[:, None]).flatten()
        shape = (num_sequences, num_tokens)
        if group.num_keys is not None and window is None and self._config.attention_softcap is None:
            return _View(rows, shape, block_rows, group.num_keys, None)
        num_keys = table.shape[1] * BLOCK_SIZE
        keys = first * BLOCK_SIZE + torch.arange(num_keys, device=table.device)  # [num_sequences, num_keys] positions
        return _View(rows, shape, block_rows, num_keys, self._mask(positions, keys, window))

    def _mask(self, positions: Tensor, keys: Tensor, window: int | None) -> Tensor:
        back = positions[:, :, None] - keys[:, None]  # [num_sequences, num_tokens, num_keys]
        is_hidden = back < 0 if window is None else (back < 0) | (back >= window)
        mask = torch.zeros_like(is_hidden, dtype=self._kv.keys.dtype).masked_fill_(is_hidden, float("-inf"))
        return mask[:, None].repeat(1, 1, self._config.num_groups, 1)

    def rotation(self, layer: int) -> Rotation:
        """See Layout.rotation."""
        return self._rotations[self._config.window_of(layer)]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """See Layout.attend; the result has the cache's dtype."""
        keys, values = self._kv.keys[layer], self._kv.values[layer]
        keys[self._blocks, :, self._offsets] = key.to(keys.dtype)
        values[self._blocks, :, self._offsets] = value.to(values.dtype)
        query = query.to(keys.dtype)
        views = self._views[self._config.window_of(layer)]
        outputs = [self._attend(view, query[view.rows], keys, values) for view in views]
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs)

    def _attend(self, view: _View, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """query: [num_sequences * num_tokens, num_heads, head_dim]; → [the same, num_heads * head_dim]."""
        config, (num_sequences, num_tokens) = self._config, view.shape
        own_keys, own_values = self._read(view, keys), self._read(view, values)
        # Query heads of one key/value head stand together: [num_sequences, num_tokens, num_kv_heads, num_groups, ...].
        heads = query.view(num_sequences, num_tokens, config.num_kv_heads, config.num_groups, config.head_dim)
        if view.mask is None:
            rows = heads.flatten(2, 3).transpose(1, 2)  # [num_sequences, num_heads, num_tokens, head_dim]
            causal = causal_lower_right(num_tokens, view.num_keys)
            mixed = scaled_dot_product_attention(
                rows, own_keys, own_values, causal, scale=config.query_scale, enable_gqa=True
            )
            return mixed.transpose(1, 2).reshape(len(query), -1)
        # As further rows of one head they need no copies of keys and values: the mask tells them apart.
        rows = heads.permute(0, 2, 3, 1, 4).flatten(2, 3)  # [num_sequences, num_kv_heads, num_groups * num_tokens, ...]
        mixed = self._masked(rows, own_keys, own_values, view.mask)
        split = mixed.view(num_sequences, config.num_kv_heads, config.num_groups, num_tokens, config.head_dim)
        return split.permute(0, 3, 1, 2, 4).reshape(len(query), -1)

    def _read(self, view: _View, layer: Tensor) -> Tensor:
        """[num_sequences, num_kv_heads, num_keys, head_dim]; one copy, a head's blocks one after another."""
        flat = layer.view(-1, BLOCK_SIZE * self._config.head_dim)
        gathered = flat.index_select(0, view.block_rows)
        blocks = gathered.view(view.shape[0], self._config.num_kv_heads, -1, self._config.head_dim)
        return blocks[:, :, : view.num_keys]

    def _masked(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        config = self._config
        if (cap := config.attention_softcap) is None:
            return scaled_dot_product_attention(query, keys, values, mask, scale=config.query_scale)
        # No ready kernel caps scores. In float32, because a cap of 50 leaves 16 bits few digits.
        scores = (query.float() * config.query_scale) @ keys.float().transpose(-1, -2)
        weights = scores.div_(cap).tanh_().mul_(cap).add_(mask).softmax(-1)
        return weights.to(values.dtype) @ values


def _begun(group: Group, spare_block: int) -> Tensor:
    """Return each sequence's last block where this step writes its first token, else the spare one; [num_sequences]."""
    first, last = group.positions[:, :1], group.positions[:, -1:]
    is_begun = last // BLOCK_SIZE * BLOCK_SIZE >= first
    return torch.where(is_begun, group.table.gather(1, last // BLOCK_SIZE), spare_block).flatten()
