"""The decoder: token ids in, logits out. Knows nothing of scheduling or sampling.

A Llama block (arXiv 2302.13971): RMSNorm (arXiv 1910.07467), rotary positions (arXiv 2104.09864) on adjacent pairs as
GGUF stores them, grouped-query attention (arXiv 2305.13245), SwiGLU (arXiv 2002.05202), tied embeddings. The residual
stream is float32, matrix inputs are bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from inference.models.config import ModelConfig
from inference.models.gguf_file import GgufFile
from inference.models.kv_cache import SequenceKV
from inference.models.linear import Linear, best_dense_dtype, load_head, load_linear

NUM_REFINED = 256
"""Logits recomputed in float32: the head's int8 product finds the candidates, too coarse to tell close rivals apart."""


_TILE = 64
"""Queries of a prompt attended to at once: their scores stay in the second-level cache."""


@dataclass(frozen=True)
class Block:
    """One layer's weights."""

    attention_norm: Tensor  # [hidden_size]
    qkv: Linear
    output: Linear
    mlp_norm: Tensor  # [hidden_size]
    gate_up: Linear
    down: Linear


@dataclass(frozen=True)
class Chunk:
    """New tokens of one sequence, to be appended to its cache."""

    ids: list[int]
    kv: SequenceKV


class Decoder:
    """One model's weights and its forward pass; keeps no state between calls but the caches it is given."""

    def __init__(self, config: ModelConfig, embedding: Tensor, blocks: list[Block], norm: Tensor, head: Tensor) -> None:
        """embedding, head: [vocab_size, hidden_size] float32; norm: [hidden_size] float32."""
        self.config = config
        self._embedding = embedding
        self._blocks = blocks
        self._norm = norm
        self._head = head
        self._head_int8 = load_head(head)
        self._rotation = _rotation(config)
        self._dense_dtype = best_dense_dtype()
        self._future = torch.ones(_TILE, _TILE, dtype=torch.bool).triu_(1)
        self.compute = f"decode: {blocks[0].qkv.compact_name}, prefill: {blocks[0].qkv.dense_name}"

    @torch.inference_mode()
    def forward(self, chunks: list[Chunk]) -> Tensor:
        """Append every chunk to its sequence and return the logits after its last token, [num_chunks, vocab_size]."""
        x, rotation = self._embed(chunks)
        for layer, block in enumerate(self._blocks):
            x = x + block.output(self._attend(layer, block, chunks, x, rotation))
            gate, up = block.gate_up(self._normed(x, block.mlp_norm)).chunk(2, dim=-1)
            x = x + block.down(functional.silu(gate) * up)
        for chunk in chunks:
            chunk.kv.num_tokens += len(chunk.ids)
        return self._logits(x, chunks)

    def _embed(self, chunks: list[Chunk]) -> tuple[Tensor, Tensor]:
        for chunk in chunks:
            chunk.kv.reserve(chunk.kv.num_tokens + len(chunk.ids))
        ids = torch.tensor([token for chunk in chunks for token in chunk.ids])
        starts = [(chunk.kv.num_tokens, chunk.kv.num_tokens + len(chunk.ids)) for chunk in chunks]
        rotation = torch.cat([self._rotation[start:end] for start, end in starts])  # [num_tokens, head_dim / 2]
        return self._embedding[ids], rotation[:, None]

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        """RMSNorm of [num_tokens, hidden_size] float32, as bfloat16."""
        scale = (x * x).mean(-1, keepdim=True).add_(self.config.norm_eps).rsqrt_()
        return (x * scale).mul_(weight).to(torch.bfloat16)

    def _attend(self, layer: int, block: Block, chunks: list[Chunk], x: Tensor, rotation: Tensor) -> Tensor:
        config, num_tokens = self.config, x.shape[0]
        num_rotated = config.num_heads + config.num_kv_heads
        qkv = block.qkv(self._normed(x, block.attention_norm)).view(num_tokens, -1, config.head_dim)
        pairs = qkv[:, :num_rotated].float().reshape(num_tokens, num_rotated, -1, 2)
        rotated = torch.view_as_real(torch.view_as_complex(pairs) * rotation).flatten(2).to(torch.bfloat16)
        query, key, value = rotated[:, : config.num_heads], rotated[:, config.num_heads :], qkv[:, num_rotated:]
        outputs, start = [], 0
        for chunk in chunks:
            rows = slice(start, start + len(chunk.ids))
            outputs.append(self._attend_one(layer, chunk.kv, query[rows], key[rows], value[rows]))
            start = rows.stop
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs)

    def _attend_one(self, layer: int, kv: SequenceKV, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """query: [n, num_heads, head_dim], key and value: [n, num_kv_heads, head_dim] → [n, num_heads * head_dim]."""
        num_new, start = query.shape[0], kv.num_tokens
        end = start + num_new
        kv.keys[layer, :, start:end] = key.transpose(0, 1)
        kv.values[layer, :, start:end] = value.transpose(0, 1)
        keys, values = kv.keys[layer, None, :, :end], kv.values[layer, None, :, :end]
        if num_new == 1:
            # The query heads that share a key/value head stand in for query positions: no mask, no copies.
            grouped = query.view(1, self.config.num_kv_heads, self.config.num_groups, self.config.head_dim)
            return functional.scaled_dot_product_attention(grouped, keys, values).reshape(1, -1)
        tiles = [
            self._attend_tile(query[tile : tile + _TILE], keys[0], values[0], start + tile)
            for tile in range(0, num_new, _TILE)
        ]
        return torch.cat(tiles)

    def _attend_tile(self, query: Tensor, keys: Tensor, values: Tensor, start: int) -> Tensor:
        """query: [n, num_heads, head_dim] from position `start` on; keys, values: [num_kv_heads, all, head_dim].

        Plain products in the dense type: scaled_dot_product_attention multiplies in float32 on a CPU, computes what the
        mask hides, and takes 1.75 times as long.
        """
        config, n, dtype = self.config, query.shape[0], self._dense_dtype
        end = start + n
        grouped = query.view(n, config.num_kv_heads, config.num_groups, -1).permute(1, 2, 0, 3)
        rows = (grouped * config.head_dim**-0.5).reshape(config.num_kv_heads, -1, config.head_dim).to(dtype)
        scores = torch.bmm(rows, keys[:, :end].to(dtype).transpose(1, 2)).view(config.num_heads, n, end)
        scores[..., start:].masked_fill_(self._future[:n, :n], float("-inf"))
        weights = scores.softmax(-1).view(config.num_kv_heads, -1, end)
        mixed = torch.bmm(weights, values[:, :end].to(dtype)).view(config.num_heads, n, config.head_dim)
        return mixed.transpose(0, 1).reshape(n, -1).to(torch.bfloat16)

    def _logits(self, x: Tensor, chunks: list[Chunk]) -> Tensor:
        lasts = torch.tensor([len(chunk.ids) for chunk in chunks]).cumsum(0) - 1
        hidden = self._normed(x[lasts], self._norm)
        logits = self._head_int8(hidden).float()  # [num_chunks, vocab_size]
        top = logits.topk(min(NUM_REFINED, logits.shape[1])).indices
        exact = torch.bmm(self._head[top], hidden.float()[:, :, None])[:, :, 0]
        return logits.scatter_(1, top, exact)


def _rotation(config: ModelConfig) -> Tensor:
    """[context_length, head_dim / 2] complex64: the rotation of each pair at each position."""
    exponents = torch.arange(0, config.head_dim, 2).float() / config.head_dim
    angles = torch.outer(torch.arange(config.context_length).float(), config.rope_theta**-exponents)
    return torch.polar(torch.ones_like(angles), angles)


def load_decoder(file: GgufFile, on_progress: Callable[[float], None] = lambda _share: None) -> Decoder:
    """Read all weights; on_progress hears the share done, 0 to 1. Raises ModelFileError."""
    dtype = best_dense_dtype()
    blocks = []
    for layer in range(file.config.num_layers):
        blocks.append(_load_block(file, f"blk.{layer}.", dtype))
        on_progress((layer + 1) / (file.config.num_layers + 1))
    embedding = torch.from_numpy(file.array("token_embd.weight"))
    head = torch.from_numpy(file.array("output.weight")) if file.has("output.weight") else embedding
    decoder = Decoder(file.config, embedding, blocks, _load_vector(file, "output_norm.weight"), head)
    on_progress(1.0)
    return decoder


def _load_block(file: GgufFile, prefix: str, dtype: torch.dtype) -> Block:
    def linear(*names: str) -> Linear:
        return load_linear(file, [f"{prefix}{name}.weight" for name in names], dtype)

    return Block(
        attention_norm=_load_vector(file, f"{prefix}attn_norm.weight"),
        qkv=linear("attn_q", "attn_k", "attn_v"),
        output=linear("attn_output"),
        mlp_norm=_load_vector(file, f"{prefix}ffn_norm.weight"),
        gate_up=linear("ffn_gate", "ffn_up"),
        down=linear("ffn_down"),
    )


def _load_vector(file: GgufFile, name: str) -> Tensor:
    return torch.from_numpy(file.array(name))
