"""Puts thinking that a server tells in a field of its own between the tags of the model's template.

The model wrote these tags, and the server took them out. With them, a thinking from elsewhere is read as one of this
worker's own engine. Knows nothing of connections.
"""

from __future__ import annotations

from collections.abc import Sequence

from inference.backends.chunks import Chunk
from inference.backends.server import Vocabulary
from inference.protocol.thinking import Thinking, ThinkingReader


class ToldThinking:
    """One answer's thinking, chunk by chunk."""

    def __init__(self, thinking: Thinking | None, vocabulary: Vocabulary, answer_so_far: Sequence[int]) -> None:
        """thinking: None: the template names no tags. Thinking in a field is then left out."""
        self._thinking = thinking
        self._vocabulary = vocabulary
        self._is_begun = self._is_over = self._is_told = False
        if thinking is not None:
            reader = ThinkingReader(thinking.begin, thinking.end, thinking.is_open)
            reader.feed(b"".join(map(vocabulary.piece, answer_so_far)).decode(errors="replace"))
            self._is_begun, self._is_over = reader.is_thinking, reader.is_answering

    def ids_before(self, chunk: Chunk, first: int | None) -> list[int]:
        """Return the tokens before the chunk's own. first: the first of its own; None: it has none.

        A text of thinking without tokens is given the tokens of this tokenizer.
        """
        if self._thinking is None or self._is_over:
            return []
        if chunk.reasoning:
            text = [] if first is not None else self._vocabulary.encode(chunk.reasoning)
            return [*self._begin(self._thinking, first), *text]
        return [] if first is None else [*self._end(self._thinking, first)]

    def _begin(self, thinking: Thinking, first: int | None) -> Sequence[int]:
        is_begun, self._is_begun, self._is_told = self._is_begun, True, True
        return () if is_begun or first == thinking.begin_ids[0] else thinking.begin_ids

    def _end(self, thinking: Thinking, first: int) -> Sequence[int]:
        """The tag that ends a thinking from the field. An answer that begins without one has none from there."""
        if not self._is_told:
            self._is_begun = self._is_begun or first == thinking.begin_ids[0]
            self._is_over = first != thinking.begin_ids[0]
            return ()
        self._is_over = True
        return () if first == thinking.end_ids[0] else thinking.end_ids
