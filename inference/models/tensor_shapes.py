"""Which tensors a decoder needs and of which shape. Knows nothing of files."""

from __future__ import annotations

from inference.models.config import ModelConfig

OUTPUT = "output.weight"
"""Absent where the embedding is used for the output too."""


def expected_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Name → [num_out, num_in] or [n], in GGUF's names for the Llama family."""
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (config.vocab_size, config.hidden_size),
        "output_norm.weight": (config.hidden_size,),
    }
    for layer in range(config.num_layers):
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in _block_shapes(config).items()}
    return shapes


def _block_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    hidden, wide, kv = config.hidden_size, config.intermediate_size, config.num_kv_heads * config.head_dim
    return {
        "attn_norm": (hidden,),
        "attn_q": (hidden, hidden),
        "attn_k": (kv, hidden),
        "attn_v": (kv, hidden),
        "attn_output": (hidden, hidden),
        "ffn_norm": (hidden,),
        "ffn_gate": (wide, hidden),
        "ffn_up": (wide, hidden),
        "ffn_down": (hidden, wide),
    }
