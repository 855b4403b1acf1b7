"""A tiny model that chats: bytes as tokens, two layers, seeded weights. Its answers are nonsense that never ends."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from tests.inference.models.tiny_gguf import END, NUM_BYTES, byte_letters, tensors, write_tiny

NAME = "tiny"
WINDOW = 8192
_TEMPLATE = "{% for message in messages %}{{ message.content }}\n{% endfor %}"
NONSENSE = {"banned_token_ids": [END, END + 1], "stop_on_repetition": False, "temperature": 0.8, "top_p": 1.0}
"""Parameters of an answer that only max_tokens ends."""


def write_chatting(path: Path) -> Path:
    """The kernels compute it, so that an answer does not depend on what is computed beside it."""
    embedding = tensors()["token_embd.weight"]
    one_more = np.concatenate([embedding, embedding[-1:]])
    changes: dict[str, np.ndarray | None] = {"token_embd.weight": one_more}
    return write_tiny(path, "Q8_0", {"context_length": WINDOW}, changes, add_tokenizer=_add_tokenizer)


def _add_tokenizer(writer: gguf.GGUFWriter) -> None:
    letters = byte_letters()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list([*letters, "<|im_end|>", letters[0] + letters[1]])
    writer.add_token_types([gguf.TokenType.NORMAL] * NUM_BYTES + [gguf.TokenType.CONTROL, gguf.TokenType.NORMAL])
    writer.add_token_merges([f"{letters[0]} {letters[1]}"])
    writer.add_bos_token_id(END)
    writer.add_eos_token_id(END)
    writer.add_add_bos_token(False)
    writer.add_chat_template(_TEMPLATE)
