"""Finds tokens by their bytes, where a server shows text and no ids. Knows nothing of connections.

llama.cpp does not show a token that ends within a character. The text of the next shown token holds its bytes too, and
its id and candidates are not sent. Only this is known: which tokens of the vocabulary have these bytes.
"""

from __future__ import annotations

from functools import cached_property

from inference.backends.server import Vocabulary

_MOST_BYTES = 1024
"""Most bytes searched at once: a run of tokens that all end within a character has a few dozen."""


class TokenTable:
    """The vocabulary's tokens by their bytes; built on first use."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    @cached_property
    def _by_piece(self) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        for token in range(self._vocabulary.vocab_size):
            found.setdefault(self._vocabulary.piece(token), []).append(token)
        return found

    def find(self, text: str) -> int | None:
        """Return the one token with this text; None when there is none, or more than one."""
        found = self._by_piece.get(text.encode(), []) if text else []
        return found[0] if len(found) == 1 else None

    @cached_property
    def _sizes(self) -> list[int]:
        """The lengths of tokens, in bytes, long ones first."""
        return sorted({len(piece) for piece in self._by_piece if piece}, reverse=True)

    def split(self, data: bytes, count: int | None) -> list[int] | None:
        """Return exactly `count` tokens with these bytes, long ones first; as few as possible when count is None.

        None when no such tokens exist, or there are more bytes than a server can have kept back.
        """
        if len(data) > _MOST_BYTES:
            return None
        counts = self._counts(data)
        if count is None:
            count = (counts[0] & -counts[0]).bit_length() - 1  # of the lowest bit
        if count < 0 or not counts[0] >> count & 1:
            return None
        return self._first_split(data, count, counts)

    def _counts(self, data: bytes) -> list[int]:
        """Return, for each place in data, the possible token counts of the rest as bits: bit n stands for n tokens."""
        counts = [0] * len(data) + [1]
        for start in range(len(data) - 1, -1, -1):
            for size in self._sizes:
                if data[start : start + size] in self._by_piece and start + size <= len(data):
                    counts[start] |= counts[start + size] << 1
        return counts

    def _first_split(self, data: bytes, count: int, counts: list[int]) -> list[int]:
        ids: list[int] = []
        start = 0
        for num_left in range(count - 1, -1, -1):
            rest = (start + size for size in self._sizes if start + size <= len(data))
            end = next(at for at in rest if counts[at] >> num_left & 1 and data[start:at] in self._by_piece)
            ids.append(self._by_piece[data[start:end]][0])
            start = end
        return ids


def hidden_bytes(text: str, piece: bytes) -> bytes:
    """Return the bytes that a chunk's text has before its token's own bytes."""
    data = text.encode()
    return data[: len(data) - len(piece)] if data.endswith(piece) else b""
