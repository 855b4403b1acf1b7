"""The model's own byte-level BPE, rebuilt from GGUF metadata. Knows nothing of chat templates.

The pre-tokenizer's form (digits isolated by \\p{N}, then GPT-2's byte level) is the one on which Python, the browser's
tokenizer and llama.cpp give the same ids.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Backend

from inference.tokenization.gguf_metadata import Metadata, TokenizerError

_CONTROL = 3
"""tokenizer.ggml.token_type of a control token."""

_PRE_TOKENIZERS = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}
"""Names in tokenizer.ggml.pre that llama.cpp reads as digits isolated, then GPT-2."""

_END_OF_TURN = {"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "</s>"}
"""Control tokens that end an answer whatever the metadata's one eos id is, as in llama.cpp."""


@dataclass(frozen=True)
class Encoding:
    """Ids with, for each, its byte span in the text's UTF-8."""

    ids: list[int]
    spans: list[tuple[int, int]]


class Tokenizer:
    """Immutable and safe between threads."""

    def __init__(self, metadata: Metadata) -> None:
        """Raises TokenizerError when the vocabulary is not byte-level BPE with merges."""
        if metadata.model != "gpt2" or not metadata.merges:
            raise TokenizerError(f"tokenizer model {metadata.model!r} without BPE merges cannot be rebuilt")
        if metadata.pre not in _PRE_TOKENIZERS:
            raise TokenizerError(f"pre-tokenizer {metadata.pre!r} is not supported; use a SmolLM2 GGUF file")
        if not all(0 <= i < len(metadata.tokens) for i in (metadata.eos_id, max(metadata.bos_id, 0))):
            raise TokenizerError("the end-of-turn or beginning token is not in the vocabulary; the file is damaged")
        self.name = metadata.name
        self._special = frozenset(i for i, kind in enumerate(metadata.token_types) if kind == _CONTROL)
        self._special_ids = {metadata.tokens[i]: i for i in self._special}
        self._backend = _build_backend(metadata, sorted(self._special))
        self._pieces = _build_pieces(metadata, self._special)
        self._visible = [b"" if i in self._special else piece for i, piece in enumerate(self._pieces)]
        self.version = hashlib.sha256(self.to_json().encode()).hexdigest()[:16]
        self.eos_ids = frozenset(
            {metadata.eos_id, *(i for name, i in self._special_ids.items() if name in _END_OF_TURN)}
        )
        self.eos_text = metadata.tokens[metadata.eos_id]
        self.bos_text = metadata.tokens[metadata.bos_id] if metadata.bos_id >= 0 else ""
        self.special_ids = dict(self._special_ids)

    @property
    def vocab_size(self) -> int:
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        """Ids of plain text: a typed `<|im_end|>` is text, never a control token. Raises ValueError on surrogates."""
        return list(self._backend.encode(_checked(text), add_special_tokens=False).ids)

    def encode_with_spans(self, text: str) -> Encoding:
        """As encode, with each token's span in UTF-8 bytes (bytes that the vocabulary lacks belong to no token)."""
        ids = self.encode(text)
        data, position, spans = text.encode(), 0, []
        for token in ids:
            piece = self._pieces[token]
            start = data.index(piece, position)
            position = start + len(piece)
            spans.append((start, position))
        return Encoding(ids, spans)

    def lossy_bytes(self, text: str) -> int:
        """Bytes of the text that no token can express: they are lost on the way to the model."""
        return len(text.encode()) - sum(len(self._pieces[token]) for token in self.encode(text))

    def piece(self, token: int) -> bytes:
        """The token's bytes; empty for control tokens."""
        return self._visible[token]

    def label(self, token: int) -> bytes:
        """The token's bytes, or a control token's name."""
        return self._pieces[token]

    def is_special(self, token: int) -> bool:
        return token in self._special

    def decode(self, ids: list[int]) -> str:
        """Text of the ids without control tokens; broken UTF-8 becomes U+FFFD."""
        return b"".join(self.piece(token) for token in ids).decode("utf-8", "replace")

    def to_json(self) -> str:
        """tokenizer.json, as the browser's tokenizer reads it."""
        return self._backend.to_str()


def _checked(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the text has a lone surrogate at character {error.start}; send valid Unicode") from error
    return text


def _build_backend(metadata: Metadata, special: list[int]) -> Backend:
    vocab = {token: index for index, token in enumerate(metadata.tokens)}
    merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in metadata.merges)]
    try:
        backend = Backend(models.BPE(vocab, merges, fuse_unk=False, byte_fallback=False))
    except Exception as error:  # the library has no narrower type
        raise TokenizerError(f"vocabulary and merges do not fit together: {error}") from error
    missing = "".join(char for char in _byte_alphabet().values() if char not in vocab)
    steps = [
        pre_tokenizers.Split(Regex(r"\p{N}"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ]
    if missing:
        # Dropped here rather than by the model, which would merge what stands on both sides of them.
        steps.append(pre_tokenizers.Split(Regex(f"[{re.escape(missing)}]"), "removed"))
    backend.pre_tokenizer = pre_tokenizers.Sequence(steps)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(metadata.tokens[i], normalized=False, special=True) for i in special])
    backend.encode_special_tokens = True
    return backend


def _build_pieces(metadata: Metadata, special: frozenset[int]) -> list[bytes]:
    to_byte = {char: byte for byte, char in _byte_alphabet().items()}
    try:
        return [
            token.encode() if index in special else bytes(to_byte[char] for char in token)
            for index, token in enumerate(metadata.tokens)
        ]
    except KeyError as error:
        raise TokenizerError(f"the vocabulary is not byte-level: it has the character {error}") from None


def _byte_alphabet() -> dict[int, str]:
    """GPT-2's map of bytes to printable characters: printable Latin-1 stands for itself, the rest from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + i) for i, byte in enumerate(others)}
