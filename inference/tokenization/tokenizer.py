"""The model's own tokenizer: text to ids and back. Knows nothing of chat templates."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from inference.tokenization.gguf_metadata import Metadata, TokenizerError
from inference.tokenization.thinking_tags import find_tags
from inference.tokenization.vocabularies import CONTROL, build_encoder, build_pieces

_END_OF_TURN = {"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "</s>"}
"""Control tokens that end an answer besides the metadata's one eos id, as in llama.cpp."""


@dataclass(frozen=True)
class Encoding:
    """Ids with, for each, its byte span in the text's UTF-8."""

    ids: list[int]
    spans: list[tuple[int, int]]


class Tokenizer:
    """Immutable and safe between threads."""

    def __init__(self, metadata: Metadata) -> None:
        """Raises TokenizerError when the vocabulary cannot be rebuilt."""
        if not all(0 <= i < len(metadata.tokens) for i in (metadata.eos_id, max(metadata.bos_id, 0))):
            raise TokenizerError("the end-of-turn or beginning token is not in the vocabulary; download the file again")
        self.name = metadata.name
        self._special = frozenset(i for i, kind in enumerate(metadata.token_types) if kind == CONTROL)
        self.special_ids = {metadata.tokens[i]: i for i in self._special}
        self._encoder = build_encoder(metadata)
        self._pieces = build_pieces(metadata)
        self.thinking = find_tags(metadata, lambda text: self._encoder.encode(text, add_special_tokens=False).ids)
        """The tags between which the model thinks; None: it does not think."""
        hidden = self._special - self._tag_ids
        self._visible = [b"" if i in hidden else piece for i, piece in enumerate(self._pieces)]
        self.longest_piece = max(map(len, self._visible))
        """Bytes of the longest token: a text has no fewer tokens than its bytes divided by this."""
        ends = {i for name, i in self.special_ids.items() if name in _END_OF_TURN}
        self.eos_ids = frozenset({metadata.eos_id, *metadata.more_eos_ids, *ends})
        self.eos_text = metadata.tokens[metadata.eos_id]
        self.begins_with_bos = metadata.begins_with_bos
        self.bos_text = metadata.tokens[metadata.bos_id] if metadata.bos_id >= 0 else ""

    @property
    def _tag_ids(self) -> frozenset[int]:
        """Control tokens that are text, as the tags of the thinking are read from an answer's text."""
        tags = self.thinking
        return frozenset() if tags is None else frozenset((*tags.begin_ids, *tags.end_ids))

    @cached_property
    def version(self) -> str:
        """Tells this tokenizer from others. The engine does not need it, and the JSON takes time."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    @property
    def vocab_size(self) -> int:
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        """Return the ids of plain text: a typed `<|im_end|>` is text, not control. Raises ValueError on surrogates."""
        return list(self._encoder.encode(_checked(text), add_special_tokens=False).ids)

    def num_tokens(self, text: str) -> int:
        """Count the tokens of plain text, without the interpreter lock and their places. Raises as `encode`."""
        return len(self._encoder.encode_batch_fast([_checked(text)], add_special_tokens=False)[0])

    def encode_with_spans(self, text: str) -> Encoding:
        """Encode with each token's span in UTF-8 bytes (bytes that the vocabulary lacks belong to no token)."""
        encoding = self._encoder.encode(_checked(text), add_special_tokens=False)
        data, position, spans = text.encode(), 0, []
        for token in encoding.ids:
            piece = self._pieces[token]
            start = data.find(piece, position)
            if start < 0:  # the tokenizer normalised the text
                return Encoding(list(encoding.ids), _byte_spans(text, encoding.offsets))
            position = start + len(piece)
            spans.append((start, position))
        return Encoding(list(encoding.ids), spans)

    def lossy_bytes(self, text: str) -> int:
        """Count the bytes of the text that no token can express: the model does not receive them."""
        return len(text.encode()) - sum(len(self._pieces[token]) for token in self.encode(text))

    def piece(self, token: int) -> bytes:
        """Return the token's bytes; empty for control tokens, except tags of thinking, and for ids that only pad."""
        return self._visible[token] if token < len(self._visible) else b""

    def label(self, token: int) -> bytes:
        """Return the token's bytes, or a control token's name."""
        return self._pieces[token]

    def is_special(self, token: int) -> bool:
        return token in self._special

    def decode(self, ids: list[int]) -> str:
        """Return the text of the ids without control tokens; broken UTF-8 becomes U+FFFD."""
        return b"".join(self.piece(token) for token in ids).decode("utf-8", "replace")

    def to_json(self) -> str:
        """Return tokenizer.json, as the browser's tokenizer reads it."""
        return self._encoder.to_str()


def _checked(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the text has a lone surrogate at character {error.start}; send valid Unicode") from error
    return text


def _byte_spans(text: str, offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Convert spans of characters to spans of UTF-8 bytes; bytes that several tokens share belong to the first."""
    ends = [0, *accumulate(len(char.encode()) for char in text)]
    spans, position = [], 0
    for start, end in offsets:
        position = max(position, ends[start])
        spans.append((position, max(position, ends[end])))
        position = spans[-1][1]
    return spans
