"""The size of the key/value cache's blocks, the same in every decoder. Knows nothing of their layout."""

from __future__ import annotations

from inference.models.config import ModelConfig

BLOCK_SIZE = 16
"""Tokens per block (PagedAttention, arXiv 2309.06180), as in vLLM. It is so small that a sequence wastes only half a
block of tokens, and so large that a block of one head is a run of memory worth fetching."""
BYTES_PER_VALUE = 2
"""Size of one number of a key or a value: float16 or bfloat16."""


def block_bytes(config: ModelConfig) -> int:
    """Return the bytes of one block over all layers, keys and values."""
    return 2 * BYTES_PER_VALUE * config.num_layers * config.num_kv_heads * BLOCK_SIZE * config.head_dim
