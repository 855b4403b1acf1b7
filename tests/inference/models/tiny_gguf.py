"""A two-layer model with seeded weights and a vocabulary of single bytes, written as GGUF in milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from inference.tokenization.tokenizer import Tokenizer

HIDDEN, WIDE, NUM_HEADS, NUM_KV_HEADS, NUM_LAYERS, WINDOW = 128, 192, 4, 2, 2, 256
NUM_BYTES = 256
END = NUM_BYTES
VOCAB = NUM_BYTES + 1


def byte_letters() -> list[str]:
    """GPT-2's letter for each byte: printable bytes stand for themselves, the others from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(NUM_BYTES)]


def tensors(seed: int = 7) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)

    def matrix(num_out: int, num_in: int, gain: float = 1.5) -> np.ndarray:
        return (generator.standard_normal((num_out, num_in)) * gain / num_in**0.5).astype(np.float32)

    def norm() -> np.ndarray:
        return (1 + 0.2 * generator.standard_normal(HIDDEN)).astype(np.float32)

    kv = HIDDEN // NUM_HEADS * NUM_KV_HEADS
    embedding = matrix(VOCAB, HIDDEN, 2.0)
    embedding[128:] *= 0.01  # never the likeliest: llama.cpp reports no probabilities of an incomplete character
    result = {"token_embd.weight": embedding, "output_norm.weight": norm()}
    for layer in range(NUM_LAYERS):
        block = {
            "attn_norm": norm(),
            "attn_q": matrix(HIDDEN, HIDDEN),
            "attn_k": matrix(kv, HIDDEN),
            "attn_v": matrix(kv, HIDDEN),
            "attn_output": matrix(HIDDEN, HIDDEN),
            "ffn_norm": norm(),
            "ffn_gate": matrix(WIDE, HIDDEN),
            "ffn_up": matrix(WIDE, HIDDEN),
            "ffn_down": matrix(HIDDEN, WIDE),
        }
        result |= {f"blk.{layer}.{name}.weight": value for name, value in block.items()}
    return result


def write_tiny(
    path: Path,
    quantization: str = "F32",
    fields: dict[str, Any] | None = None,
    changes: dict[str, np.ndarray | None] | None = None,
    architecture: str = "llama",
    add_tokenizer: Callable[[gguf.GGUFWriter], None] | None = None,
    chat_template: str | None = None,
) -> Path:
    """fields override metadata (None leaves one out); changes override tensors (None leaves one out)."""
    writer = gguf.GGUFWriter(path, architecture)
    for name, value in (_metadata() | (fields or {})).items():
        if value is not None:
            _add(writer, f"llama.{name}", value)
    (add_tokenizer or _add_tokenizer)(writer)
    if chat_template is not None:
        writer.add_chat_template(chat_template)
    for name, tensor in (tensors() | (changes or {})).items():
        if tensor is not None:
            _add_tensor(writer, name, tensor, quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_with_words(path: Path, tokenizer: Tokenizer) -> Path:
    """The same layers with a row for each word of a real tokenizer. Its answers have no sense, and no end."""
    tokens = range(tokenizer.vocab_size)
    unlikely = [tokenizer.is_special(token) or not tokenizer.piece(token).isascii() for token in tokens]
    embedding = np.random.default_rng(7).standard_normal((len(tokens), HIDDEN)).astype(np.float32) * 2 / HIDDEN**0.5
    embedding[unlikely] *= 0.01  # half a character would wait for its other half
    return write_tiny(path, "Q8_0", {"context_length": 8192}, {"token_embd.weight": embedding})


def _metadata() -> dict[str, Any]:
    return {
        "block_count": NUM_LAYERS,
        "context_length": WINDOW,
        "embedding_length": HIDDEN,
        "feed_forward_length": WIDE,
        "attention.head_count": NUM_HEADS,
        "attention.head_count_kv": NUM_KV_HEADS,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.freq_base": 10_000.0,
    }


def _add(writer: gguf.GGUFWriter, name: str, value: Any) -> None:
    match value:
        case str():
            writer.add_string(name, value)
        case int():
            writer.add_uint32(name, value)
        case float():
            writer.add_float32(name, value)


def _add_tokenizer(writer: gguf.GGUFWriter) -> None:
    letters = byte_letters()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    merged = letters[0] + letters[1]  # in place of the byte 255, which no text has
    writer.add_token_list([*letters[:-1], merged, "<|im_end|>"])
    writer.add_token_types([gguf.TokenType.NORMAL] * NUM_BYTES + [gguf.TokenType.CONTROL])
    writer.add_token_merges([f"{letters[0]} {letters[1]}"])
    writer.add_bos_token_id(END)
    writer.add_eos_token_id(END)
    writer.add_add_bos_token(False)


def _add_tensor(writer: gguf.GGUFWriter, name: str, tensor: np.ndarray, quantization: str) -> None:
    if tensor.ndim == 1 or quantization == "F32":
        writer.add_tensor(name, tensor)
    else:
        kind = gguf.GGMLQuantizationType[quantization]
        writer.add_tensor(name, gguf.quants.quantize(tensor, kind), raw_dtype=kind)
