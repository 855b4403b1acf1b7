"""The question for the number of a prompt's tokens in a worker's prefix cache. Knows nothing of the blocks."""

from __future__ import annotations

import msgspec


class CachePeek(msgspec.Struct, frozen=True):
    """Asked of one worker, through a list in Redis (eventlog/keys.py)."""

    reply_to: str
    """The list for the answer: a number of tokens, or nothing where the number is unknown."""
    model: str
    principal: str
    """The prompt's owner. The answer counts no other principal's blocks."""
    ids: tuple[int, ...]


encode_peek = msgspec.json.Encoder().encode
decode_peek = msgspec.json.Decoder(CachePeek).decode
