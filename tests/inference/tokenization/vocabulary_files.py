"""Model files that are all vocabulary: one block of the smallest decoder, so that llama.cpp loads them."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np

from inference.tokenization.gguf_metadata import Metadata

_HIDDEN = 32
_WINDOW = 64
CORPUS = [row["text"] for row in json.loads((Path(__file__).parents[2] / "golden/tokenizer_corpus.json").read_text())]
TRICKY = [
    "a  b   c\n\n\nd",
    " lead",
    "<s>x</i><think>hm</think>",
    "▁▁x",
    "\t\t tab",
    "1234567 v1.2.3",
    "I'LL don't",
    "\x01é",
]


def write_byte_level(path: Path, metadata: Metadata, pre: str, num_more_ids: int = 0, window: int = _WINDOW) -> Path:
    """SmolLM2's vocabulary under another model's pre-tokenizer; the model may know more ids, or fewer."""
    writer = _writer(path, len(metadata.tokens) + num_more_ids, window)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(list(metadata.tokens))
    writer.add_token_types(list(metadata.token_types))
    writer.add_token_merges(list(metadata.merges))
    writer.add_bos_token_id(metadata.bos_id)
    writer.add_eos_token_id(metadata.eos_id)
    if metadata.chat_template is not None:
        writer.add_chat_template(metadata.chat_template)
    return _close(writer)


def write_sentencepiece(path: Path, add_space_prefix: bool = False) -> Path:
    """Characters and stretches of the corpus with seeded scores, bytes, and user-defined tokens as Gemma has them."""
    text = "".join(CORPUS).replace(" ", "▁").replace("\n", "")
    generator = np.random.default_rng(5)
    starts, lengths = generator.integers(len(text) - 8, size=6000), generator.integers(2, 8, size=6000)
    pieces = {text[start : start + length] for start, length in zip(starts, lengths, strict=True)}
    pieces |= {piece[:cut] for piece in pieces for cut in range(2, len(piece))}
    plain = [*sorted(set(text)), *sorted(pieces)]
    names = ["<unk>", "<s>", "</s>", "\n", "\n\n", "  ", "<think>", *(f"<0x{byte:02X}>" for byte in range(256)), *plain]
    kinds = [2, 3, 3, 4, 4, 4, 4, *[6] * 256, *[1] * len(plain)]
    writer = _writer(path, len(names))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(names)
    writer.add_token_types(kinds)
    # No two alike: what wins a tie is not defined.
    writer.add_token_scores(
        [-1000.0] * 7 + [0.0] * 256 + [-float(score) for score in generator.permutation(len(plain))]
    )
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(add_space_prefix)
    return _close(writer)


def _writer(path: Path, vocab_size: int, window: int = _WINDOW) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(window)
    writer.add_embedding_length(_HIDDEN)
    writer.add_feed_forward_length(_HIDDEN)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tensor("token_embd.weight", np.zeros((vocab_size, _HIDDEN), np.float16))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros((_HIDDEN, _HIDDEN), np.float16))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(_HIDDEN, np.float32))
    return writer


def _close(writer: gguf.GGUFWriter) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return Path(str(writer.path))
