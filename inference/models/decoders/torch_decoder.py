"""The decoder in PyTorch, on any processor that it has kernels for. Knows nothing of scheduling or sampling.

One block for all families: RMSNorm (arXiv 1910.07467), rotary positions, attention, a gated MLP (arXiv 2002.05202). A
family's additions (biases, norms of heads and of outputs, scales, caps, windows) stand in its ModelConfig. The residual
stream is float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from inference.models.config import ModelConfig
from inference.models.decoder import Chunk
from inference.models.decoders.attention import Layout, StepLayout
from inference.models.decoders.kv_cache import KVCache
from inference.models.decoders.observer import Observer
from inference.models.weights.linear import Linear, load_head, unpack_linear
from inference.models.weights.torch_weights import Weights

NUM_REFINED = 256
"""Logits recomputed in float32. The head's int8 product finds the candidates, but cannot tell close ones apart."""
_MAX_RANKED_ROWS = 64
"""Up to this many rows the head ranks in int8. For more, one float32 product of all is less work and memory."""


@dataclass(frozen=True)
class Block:
    """One layer's weights; None: its family does not have them."""

    attention_norm: Tensor  # [hidden_size]
    qkv: Linear
    qkv_bias: Tensor | None  # [(num_heads + 2 * num_kv_heads) * head_dim]
    qk_norm: Tensor | None  # [num_heads + num_kv_heads, head_dim]
    output: Linear
    attention_post_norm: Tensor | None
    mlp_norm: Tensor
    gate_up: Linear
    down: Linear
    mlp_post_norm: Tensor | None


class TorchDecoder:
    """A Decoder; keeps no state between calls but the cache it is given."""

    is_batch_invariant = False
    """A product's form depends on its number of rows."""
    device = "cpu"

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        self.config = config
        self._embedding = weights["embedding"]  # [vocab_size, hidden_size]
        self._head = weights.get("head", self._embedding)  # the same shape
        self._ranking = load_head(weights.part("head.")) if "head.int8" in weights else None
        self._norm = weights["output_norm"]
        self._blocks = [_block(config, weights.part(f"{layer}.")) for layer in range(config.num_layers)]
        self._dense_dtype = weights["0.qkv.dense"].dtype
        # The compact kernels take bfloat16.
        self._dtype = torch.bfloat16 if self._ranking else self._dense_dtype
        self._activation = functional.silu if config.activation == "silu" else _gelu_tanh
        matrices = [each for block in self._blocks for each in (block.qkv, block.output, block.gate_up, block.down)]
        compact = " and ".join(sorted({matrix.compact_name for matrix in matrices}))
        self.compute = f"decode: {compact}, prefill: {matrices[0].dense_name}, by PyTorch"

    def build_cache(self, num_blocks: int) -> KVCache:
        dtype = torch.float16 if self._ranking else self._dense_dtype
        return KVCache(self.config, num_blocks, dtype)

    def wait(self) -> None:
        """See decoder.Decoder."""

    @torch.inference_mode()
    def forward(self, chunks: list[Chunk], kv: KVCache, observer: Observer | None = None) -> NDArray[np.float32]:
        """See Decoder.forward; the observer receives the step's results."""
        layout = StepLayout(chunks, self.config, kv, self._dense_dtype, observer)
        ids = torch.tensor([token for chunk in chunks for token in chunk.ids])
        return self._logits(self.residual(ids, layout, observer), chunks).numpy()

    def residual(self, ids: Tensor, layout: Layout, observer: Observer | None = None) -> Tensor:
        """Return the residual stream after all layers: [num_tokens] → [num_tokens, hidden_size] float32."""
        x = self._embedding[ids].float() * self.config.embedding_scale
        for layer, block in enumerate(self._blocks):
            x = x + self._attend(layer, block, layout, x)
            gate, up = block.gate_up(self._normed(x, block.mlp_norm)).chunk(2, dim=-1)
            x = x + self._post(block.down(self._activation(gate) * up), block.mlp_post_norm)
            if observer is not None:
                observer.passed(layer, x)
        return x

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        """Return the RMSNorm over the last dimension of a float32 tensor, in the dtype of matrix inputs."""
        return self._rms(x, weight).to(self._dtype)

    def _rms(self, x: Tensor, weight: Tensor) -> Tensor:
        scale = (x * x).mean(-1, keepdim=True).add_(self.config.norm_eps).rsqrt_()
        return (x * scale).mul_(weight)

    def _post(self, added: Tensor, weight: Tensor | None) -> Tensor:
        return added if weight is None else self._rms(added.float(), weight)

    def _attend(self, layer: int, block: Block, layout: Layout, x: Tensor) -> Tensor:
        config = self.config
        qkv = block.qkv(self._normed(x, block.attention_norm)).float()
        if block.qkv_bias is not None:
            qkv = qkv + block.qkv_bias
        heads = qkv.view(len(x), -1, config.head_dim)  # [num_tokens, num_heads + 2 * num_kv_heads, head_dim]
        num_turned = config.num_heads + config.num_kv_heads
        turned, value = heads[:, :num_turned], heads[:, num_turned:]
        if block.qk_norm is not None:
            turned = self._rms(turned, block.qk_norm)
        turned = layout.rotation(layer)(turned)
        query, key = turned[:, : config.num_heads], turned[:, config.num_heads :]
        mixed = layout.attend(layer, query, key, value)
        return self._post(block.output(mixed.to(self._dtype)), block.attention_post_norm)

    def _logits(self, x: Tensor, chunks: list[Chunk]) -> Tensor:
        ends = accumulate(len(chunk.ids) for chunk in chunks)
        rows = [row for end, chunk in zip(ends, chunks, strict=True) for row in range(end - chunk.num_logits, end)]
        if not rows:
            return torch.empty(0, self.config.vocab_size)
        return self.read_out(x[torch.tensor(rows)])

    @torch.inference_mode()
    def read_out(self, residual: Tensor) -> Tensor:
        """The final norm and the output head: [num_rows, hidden_size] → logits, [num_rows, vocab_size] float32."""
        logits = self._head_product(self._normed(residual, self._norm))
        cap = self.config.logit_softcap
        return logits if cap is None else (logits / cap).tanh_().mul_(cap)

    def _head_product(self, hidden: Tensor) -> Tensor:
        """[num_rows, hidden_size] → [num_rows, vocab_size] float32."""
        if hidden.is_cuda and hidden.dtype is not torch.float32:  # 16 bits would make ties of close logits
            return torch.mm(hidden, self._head.T, out_dtype=torch.float32)
        if self._ranking is None or len(hidden) > _MAX_RANKED_ROWS:
            dtype = torch.float32 if self._ranking else self._dtype
            return functional.linear(hidden.to(dtype), self._head.to(dtype)).float()
        logits = self._ranking(hidden).float()
        top = logits.topk(min(NUM_REFINED, logits.shape[1])).indices
        exact = torch.bmm(self._head[top].float(), hidden.float()[:, :, None])[:, :, 0]
        return logits.scatter_(1, top, exact)


def _block(config: ModelConfig, weights: Weights) -> Block:
    qk_norm = None
    if config.has_qk_norm:
        norms = [weights["q_norm"].expand(config.num_heads, -1), weights["k_norm"].expand(config.num_kv_heads, -1)]
        qk_norm = torch.cat(norms)
    return Block(
        attention_norm=weights["attention_norm"],
        qkv=unpack_linear(weights.part("qkv.")),
        qkv_bias=weights.get("qkv_bias"),
        qk_norm=qk_norm,
        output=unpack_linear(weights.part("output.")),
        attention_post_norm=weights.get("attention_post_norm"),
        mlp_norm=weights["mlp_norm"],
        gate_up=unpack_linear(weights.part("gate_up.")),
        down=unpack_linear(weights.part("down.")),
        mlp_post_norm=weights.get("mlp_post_norm"),
    )


def _gelu_tanh(x: Tensor) -> Tensor:
    return functional.gelu(x, approximate="tanh")
