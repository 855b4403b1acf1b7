"""The differences between the supported model families, in any kind of file. Knows nothing of tensors.

Llama (arXiv 2302.13971), Qwen2.5 (arXiv 2412.15115), Qwen3 (arXiv 2505.09388), Gemma 2 (arXiv 2408.00118) and Gemma 3
(arXiv 2503.19786).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Family:
    """The properties that an architecture's name implies where the file does not state them."""

    gguf_pairing: Literal["adjacent", "halves"] = "halves"
    has_qkv_bias: bool = False
    has_qk_norm: bool = False
    is_gemma: bool = False
    """Norms after attention and MLP too, a gelu gate, embeddings scaled by the root of their width. In Hugging Face
    files norm weights lack the 1 that is added to them."""
    sliding_pattern: int = 0
    """Every n-th layer sees all tokens and the others a window, where the file does not say otherwise."""
    rope_theta: float = 10_000.0
    """Default where the file states no base."""
    rope_theta_sliding: float = 10_000.0
    large_num_layers: int = 0
    """Layers of the one size that scales queries by hidden_size / num_heads, not head_dim; GGUF tells it by this."""


FAMILIES = {
    "llama": Family(gguf_pairing="adjacent"),
    "qwen2": Family(has_qkv_bias=True),
    "qwen3": Family(has_qk_norm=True),
    "gemma2": Family(is_gemma=True, sliding_pattern=2, large_num_layers=46),
    "gemma3": Family(is_gemma=True, has_qk_norm=True, sliding_pattern=6, rope_theta=1_000_000.0, large_num_layers=62),
}


def llama3_divisors(
    frequencies: Sequence[float], factor: float, low: float, high: float, trained_length: float
) -> tuple[float, ...]:
    """Llama 3's RoPE scaling (arXiv 2407.21783; rope_type llama3): pairs that turn less than `low` times within the
    trained length are slowed by factor. Those that turn more than `high` times are kept; between, it is blended."""
    divisors = []
    for frequency in frequencies:
        turns = trained_length * frequency / (2 * math.pi)
        kept = min(max((turns - low) / (high - low), 0.0), 1.0)
        divisors.append(1 / ((1 - kept) / factor + kept))
    return tuple(divisors)
