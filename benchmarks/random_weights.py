"""Seeded weights of any shape without a file, in float32 unless said otherwise."""

from __future__ import annotations

from dataclasses import replace

import torch

from inference.models.config import ModelConfig
from inference.models.weights.torch_weights import Weights

PLAIN = ModelConfig(
    architecture="llama",
    quantization="F32",
    num_layers=2,
    hidden_size=64,
    intermediate_size=96,
    num_heads=4,
    num_kv_heads=2,
    head_dim=16,
    vocab_size=300,
    context_length=512,
    norm_eps=1e-5,
    rope_theta=10_000.0,
    rope_pairing="halves",
    query_scale=0.25,
)
WINDOWED = replace(PLAIN, rope_theta_sliding=1_000.0, sliding_window=21, sliding_layers=frozenset({0}))
CAPPED = replace(WINDOWED, attention_softcap=5.0, logit_softcap=3.0)


def random_weights(
    config: ModelConfig, dtype: torch.dtype = torch.float32, device: torch.device | None = None
) -> Weights:
    """As load_on_device gives them."""
    generator = torch.Generator(device or "cpu").manual_seed(7)

    def matrix(num_out: int, num_in: int) -> torch.Tensor:
        drawn = torch.randn(num_out, num_in, generator=generator, device=device, dtype=dtype)
        return drawn.mul_(2 * num_in**-0.5)

    weights, ones = Weights(), torch.ones(config.hidden_size, device=device)
    heads = config.num_heads * config.head_dim
    for layer in range(config.num_layers):
        weights |= {
            f"{layer}.attention_norm": ones,
            f"{layer}.mlp_norm": ones,
            f"{layer}.qkv.dense": matrix(heads + 2 * config.num_kv_heads * config.head_dim, config.hidden_size),
            f"{layer}.output.dense": matrix(config.hidden_size, heads),
            f"{layer}.gate_up.dense": matrix(2 * config.intermediate_size, config.hidden_size),
            f"{layer}.down.dense": matrix(config.hidden_size, config.intermediate_size),
        }
    weights["output_norm"] = ones
    weights["embedding"] = matrix(config.vocab_size, config.hidden_size)
    return weights
