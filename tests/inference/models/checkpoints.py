"""Tiny seeded models of every family, made by transformers; and the same written as GGUF, as llama.cpp expects it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
import transformers

from inference.models.config import ModelConfig
from inference.models.sources.safetensors_folder import SafetensorsFolder
from inference.models.sources.tensor_shapes import expected_shapes

VOCAB, WINDOW = 320, 512
_COMMON: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 128,
    "intermediate_size": 192,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": WINDOW,
    "initializer_range": 0.15,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
_LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
_GEMMA3_ROPES = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
    "full_attention": {"rope_type": "linear", "rope_theta": 1_000_000.0, "factor": 4.0},
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {"num_hidden_layers": 2, "tie_word_embeddings": False}),
    "llama3": ("llama", {"num_hidden_layers": 2, "rope_parameters": _LLAMA3, "tie_word_embeddings": True}),
    "qwen2": ("qwen2", {"num_hidden_layers": 2, "tie_word_embeddings": True}),
    "qwen3": ("qwen3", {"num_hidden_layers": 2, "head_dim": 48, "tie_word_embeddings": False}),
    "gemma2": ("gemma2", {"num_hidden_layers": 2, "head_dim": 48, "sliding_window": 9, "query_pre_attn_scalar": 48}),
    "gemma3": (
        "gemma3_text",
        {
            "num_hidden_layers": 7,
            "head_dim": 48,
            "sliding_window": 9,
            "query_pre_attn_scalar": 48,
            "rope_parameters": _GEMMA3_ROPES,
        },
    ),
}
"""Name → model_type and what differs from the common shape."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder written by transformers, and the model it was written from."""

    folder: Path
    model: Any

    def logits(self, ids: list[int]) -> np.ndarray:
        """[num_tokens, vocab_size] float32, by transformers in float32."""
        with torch.inference_mode():
            return np.asarray(self.model(torch.tensor([ids])).logits[0].float())


def write_checkpoint(folder: Path, family: str, dtype: torch.dtype = torch.float32, shard: str = "1GB") -> Checkpoint:
    kind, own = FAMILIES[family]
    config = transformers.AutoConfig.for_model(kind, **(_COMMON | own))
    torch.manual_seed(7)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").to(dtype).eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.ndim == 1:  # norms and biases start as ones and zeros, with which a forgotten one is not seen
                value.add_(torch.randn_like(value), alpha=0.5 if name.endswith("bias") else 0.2)
    model.save_pretrained(folder, max_shard_size=shard)
    return Checkpoint(folder, model.float())


def write_gguf(path: Path, source: SafetensorsFolder, quantization: str = "F32") -> Path:
    """The folder's model as GGUF. Matrices in the given format where their rows allow it."""
    config = source.config
    writer = gguf.GGUFWriter(path, config.architecture)
    _add_metadata(writer, config)
    names = [*expected_shapes(config), *(["output.weight"] if source.has("output.weight") else [])]
    for name in names:
        values = source.array(name)
        if config.architecture == "llama" and name.endswith(("attn_q.weight", "attn_k.weight")):
            values = _adjacent(values, config.head_dim)
        if values.ndim == 1 or quantization == "F32":
            writer.add_tensor(name, values)
        else:
            kind = gguf.GGMLQuantizationType[quantization]
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    if config.architecture == "llama" and config.rope_divisors:
        writer.add_tensor("rope_freqs.weight", np.array(config.rope_divisors, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _adjacent(rows: np.ndarray, head_dim: int) -> np.ndarray:
    """Rows of q or k from halves to adjacent pairs, as llama.cpp's converter orders them."""
    halves = rows.reshape(-1, 2, head_dim // 2, rows.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(rows.shape)


def _add_metadata(writer: gguf.GGUFWriter, config: ModelConfig) -> None:
    writer.add_block_count(config.num_layers)
    writer.add_context_length(config.context_length)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_heads)
    writer.add_head_count_kv(config.num_kv_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.norm_eps)
    writer.add_rope_freq_base(config.rope_theta)
    if config.sliding_window:
        writer.add_sliding_window(config.sliding_window)
    if config.attention_softcap and config.logit_softcap:
        writer.add_attn_logit_softcapping(config.attention_softcap)
        writer.add_final_logit_softcapping(config.logit_softcap)
    if config.rope_divisors and config.architecture != "llama":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(config.rope_divisors[0])
    _add_tokenizer(writer, config.vocab_size)


def _add_tokenizer(writer: gguf.GGUFWriter, vocab_size: int) -> None:
    """One that llama.cpp accepts; the tests send ids."""
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    names += [f"word{n}" for n in range(vocab_size - len(names))]
    kinds = [gguf.TokenType.UNKNOWN] + [gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.BYTE] * 256
    kinds += [gguf.TokenType.NORMAL] * (vocab_size - len(kinds))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(names)
    writer.add_token_scores([0.0] * vocab_size)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
