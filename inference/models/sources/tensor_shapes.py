"""The tensors that a decoder needs, and their shapes. Knows nothing of files."""

from __future__ import annotations

from inference.models.config import ModelConfig

OUTPUT = "output.weight"
"""Absent where the embedding is used for the output too."""


def expected_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Name → [num_out, num_in] or [n], in GGUF's names."""
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (config.vocab_size, config.hidden_size),
        "output_norm.weight": (config.hidden_size,),
    }
    block = _block_shapes(config)
    for layer in range(config.num_layers):
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    return shapes


def _block_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    hidden, wide = config.hidden_size, config.intermediate_size
    query, kv = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
    shapes: dict[str, tuple[int, ...]] = {
        "attn_norm.weight": (hidden,),
        "attn_q.weight": (query, hidden),
        "attn_k.weight": (kv, hidden),
        "attn_v.weight": (kv, hidden),
        "attn_output.weight": (hidden, query),
        "ffn_norm.weight": (hidden,),
        "ffn_gate.weight": (wide, hidden),
        "ffn_up.weight": (wide, hidden),
        "ffn_down.weight": (hidden, wide),
    }
    if config.has_qkv_bias:
        shapes |= {"attn_q.bias": (query,), "attn_k.bias": (kv,), "attn_v.bias": (kv,)}
    if config.has_qk_norm:
        shapes |= {"attn_q_norm.weight": (config.head_dim,), "attn_k_norm.weight": (config.head_dim,)}
    if config.has_post_norms:
        shapes |= {"post_attention_norm.weight": (hidden,), "post_ffw_norm.weight": (hidden,)}
    return shapes
