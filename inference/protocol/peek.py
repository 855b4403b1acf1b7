"""The question of how much of a prompt a worker's prefix cache holds. Nothing comes of it but the number."""

from __future__ import annotations

import msgspec


class CachePeek(msgspec.Struct, frozen=True):
    """Asked of one worker, through a list in Redis (eventlog/keys.py)."""

    reply_to: str
    """The list in which the answer is awaited: a number of tokens, or nothing where it is not known."""
    model: str
    cache_salt: str
    """Whose prompt it is: of nobody else's blocks is anything told."""
    ids: tuple[int, ...]


encode_peek = msgspec.json.Encoder().encode
decode_peek = msgspec.json.Decoder(CachePeek).decode
