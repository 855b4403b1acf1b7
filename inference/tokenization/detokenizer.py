"""Token bytes to text, incrementally, without ever splitting a character. Knows nothing of tokens."""

from __future__ import annotations

import codecs


class Detokenizer:
    """Incremental UTF-8: bytes of an unfinished character wait; broken bytes become U+FFFD once that is certain."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, piece: bytes) -> str:
        """Return the text that this piece completes, perhaps empty."""
        return self._decoder.decode(piece)

    def flush(self) -> str:
        """Return the rest at the end: an unfinished character as U+FFFD."""
        return self._decoder.decode(b"", final=True)

    @property
    def is_whole(self) -> bool:
        """True when no byte is waiting."""
        return not self._decoder.getstate()[0]
