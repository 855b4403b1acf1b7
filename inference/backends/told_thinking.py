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
        self._last: list[int] = []
        """The last tokens with ids: the end tag may be divided among chunks."""
        if thinking is not None:
            reader = ThinkingReader(thinking.begin, thinking.end, thinking.is_open)
            reader.feed(b"".join(map(vocabulary.piece, answer_so_far)).decode(errors="replace"))
            self._is_begun, self._is_over = reader.is_thinking, reader.is_answering

    def is_left_out(self, chunk: Chunk) -> bool:
        """True of thinking that no tags can hold: the template names none, or the answer has begun."""
        return bool(chunk.reasoning) and not chunk.text and (self._thinking is None or self._is_over)

    def ids_before(self, chunk: Chunk, ids: Sequence[int]) -> list[int]:
        """Return the tokens before the chunk's own. ids: its own, if it has any.

        A text of thinking without tokens is given the tokens of this tokenizer.
        """
        thinking = self._thinking
        if thinking is None or self._is_over:
            return []
        is_ended = self._holds_end(thinking, ids)
        if chunk.reasoning:
            found = [*self._begin(thinking, ids), *([] if ids else self._vocabulary.encode(chunk.reasoning))]
        else:
            found = [] if is_ended or not ids else [*self._end(thinking, ids[0])]
        self._is_over = self._is_over or is_ended
        return found

    def _holds_end(self, thinking: Thinking, ids: Sequence[int]) -> bool:
        """True once the tokens with ids have the tag that ends the thinking."""
        end, found = [*thinking.end_ids], [*self._last, *ids]
        self._last = found[-len(end) :]
        return any(found[at : at + len(end)] == end for at in range(len(found) - len(end) + 1))

    def _begin(self, thinking: Thinking, ids: Sequence[int]) -> Sequence[int]:
        is_begun, self._is_begun, self._is_told = self._is_begun, True, True
        return () if is_begun or ids[:1] == [thinking.begin_ids[0]] else thinking.begin_ids

    def _end(self, thinking: Thinking, first: int) -> Sequence[int]:
        """The tag that ends a thinking from the field. An answer that begins without one has none from there."""
        if not self._is_told:
            self._is_begun = self._is_begun or first == thinking.begin_ids[0]
            self._is_over = first != thinking.begin_ids[0]
            return ()
        self._is_over = True
        return () if first == thinking.end_ids[0] else thinking.end_ids
