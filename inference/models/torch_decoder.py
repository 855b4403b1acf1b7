"""The decoder in PyTorch. Knows nothing of scheduling or sampling.

A Llama block (arXiv 2302.13971): RMSNorm (arXiv 1910.07467), rotary positions (arXiv 2104.09864) on adjacent pairs as
GGUF stores them, attention, SwiGLU (arXiv 2002.05202), tied embeddings. The residual stream is float32, matrix inputs
are bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from inference.models.attention import StepLayout
from inference.models.config import ModelConfig
from inference.models.decoder import Chunk
from inference.models.gguf_file import GgufFile
from inference.models.kv_cache import KVCache
from inference.models.linear import Linear, best_dense_dtype, load_head, load_linear

NUM_REFINED = 256
"""Logits recomputed in float32: the head's int8 product finds the candidates, too coarse to tell close rivals apart."""


@dataclass(frozen=True)
class Block:
    """One layer's weights."""

    attention_norm: Tensor  # [hidden_size]
    qkv: Linear
    output: Linear
    mlp_norm: Tensor  # [hidden_size]
    gate_up: Linear
    down: Linear


class TorchDecoder:
    """The portable decoder, on any processor that PyTorch has kernels for."""

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
        self.compute = f"decode: {blocks[0].qkv.compact_name}, prefill: {blocks[0].qkv.dense_name}"

    @torch.inference_mode()
    def forward(self, chunks: list[Chunk], kv: KVCache) -> NDArray[np.float32]:
        """Append every chunk to its blocks; returns [sum of num_logits, vocab_size], rows in the chunks' order."""
        layout = StepLayout(chunks, self.config, self._embedding.device)
        x = self._embedding[torch.tensor([token for chunk in chunks for token in chunk.ids])]
        rotation = self._rotation[layout.positions, None]  # [num_tokens, 1, head_dim / 2]
        for layer, block in enumerate(self._blocks):
            x = x + block.output(self._attend(layer, block, layout, x, rotation, kv))
            gate, up = block.gate_up(self._normed(x, block.mlp_norm)).chunk(2, dim=-1)
            x = x + block.down(functional.silu(gate) * up)
        return self._logits(x, chunks).numpy()

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        """RMSNorm of [num_tokens, hidden_size] float32, as bfloat16."""
        scale = (x * x).mean(-1, keepdim=True).add_(self.config.norm_eps).rsqrt_()
        return (x * scale).mul_(weight).to(torch.bfloat16)

    def _attend(self, layer: int, block: Block, layout: StepLayout, x: Tensor, rotation: Tensor, kv: KVCache) -> Tensor:
        config, num_tokens = self.config, x.shape[0]
        num_rotated = config.num_heads + config.num_kv_heads
        qkv = block.qkv(self._normed(x, block.attention_norm)).view(num_tokens, -1, config.head_dim)
        pairs = qkv[:, :num_rotated].float().reshape(num_tokens, num_rotated, -1, 2)
        rotated = torch.view_as_real(torch.view_as_complex(pairs) * rotation).flatten(2)
        query, key, value = rotated[:, : config.num_heads], rotated[:, config.num_heads :], qkv[:, num_rotated:]
        return layout.attend(layer, query, key, value, kv, self._dense_dtype).to(torch.bfloat16)

    def _logits(self, x: Tensor, chunks: list[Chunk]) -> Tensor:
        ends = accumulate(len(chunk.ids) for chunk in chunks)
        rows = [row for end, chunk in zip(ends, chunks, strict=True) for row in range(end - chunk.num_logits, end)]
        hidden = self._normed(x[torch.tensor(rows, dtype=torch.long)], self._norm)
        if not rows:
            return torch.empty(0, self.config.vocab_size)
        logits = self._head_int8(hidden).float()  # [num_rows, vocab_size]
        top = logits.topk(min(NUM_REFINED, logits.shape[1])).indices
        exact = torch.bmm(self._head[top], hidden.float()[:, :, None])[:, :, 0]
        return logits.scatter_(1, top, exact)


def _rotation(config: ModelConfig) -> Tensor:
    """[context_length, head_dim / 2] complex64: the rotation of each pair at each position."""
    exponents = torch.arange(0, config.head_dim, 2).float() / config.head_dim
    angles = torch.outer(torch.arange(config.context_length).float(), config.rope_theta**-exponents)
    return torch.polar(torch.ones_like(angles), angles)


def load_torch_decoder(file: GgufFile, on_progress: Callable[[float], None]) -> TorchDecoder:
    """See load_decoder."""
    dtype = best_dense_dtype()
    blocks = []
    for layer in range(file.config.num_layers):
        blocks.append(_load_block(file, f"blk.{layer}.", dtype))
        on_progress((layer + 1) / (file.config.num_layers + 1))
    embedding = torch.from_numpy(file.array("token_embd.weight"))
    head = torch.from_numpy(file.array("output.weight")) if file.has("output.weight") else embedding
    decoder = TorchDecoder(file.config, embedding, blocks, _load_vector(file, "output_norm.weight"), head)
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
