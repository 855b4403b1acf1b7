"""Finds tokens by their bytes, where a server shows text and no ids. Knows nothing of connections.

llama.cpp shows no token that ends within a character: the text of the next whole one holds their bytes too, and their
ids and candidates are nowhere. What can be said of them is which tokens of the vocabulary have these bytes.
"""

from __future__ import annotations

from functools import cached_property

from inference.backends.server import Vocabulary


class TokenTable:
    """The vocabulary's tokens by their bytes; made at the first question."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    @cached_property
    def _by_piece(self) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        for token in range(self._vocabulary.vocab_size):
            found.setdefault(self._vocabulary.piece(token), []).append(token)
        return found

    def find(self, text: str) -> int | None:
        """The one token with this text; None when there is none, or more than one."""
        found = self._by_piece.get(text.encode(), []) if text else []
        return found[0] if len(found) == 1 else None

    def split(self, data: bytes, count: int | None) -> list[int] | None:
        """Exactly `count` tokens with these bytes, long ones first; as few as possible where the count is not known.

        None when there are none.
        """
        if count is None:
            splits = (self.split(data, each) for each in range(1, len(data) + 1))
            return next((found for found in splits if found), None)
        if count <= 0:
            return None if data else []
        for size in range(len(data) - count + 1, 0, -1):
            found = self._by_piece.get(data[:size])
            rest = self.split(data[size:], count - 1) if found else None
            if found and rest is not None:
                return [found[0], *rest]
        return None


def hidden_bytes(text: str, piece: bytes) -> bytes:
    """What a chunk's text has before its token's own bytes."""
    data = text.encode()
    return data[: len(data) - len(piece)] if data.endswith(piece) else b""
