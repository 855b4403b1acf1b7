"""Ends a model's thinking where its budget or a person wants the answer. Knows nothing of logits.

The tag at the thinking's end is forced, token by token. So the model goes on as if it had written the tag itself.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Literal, NamedTuple

from inference.protocol.thinking import Thinking, ThinkingReader
from inference.sampling.dry import Piece

Cause = Literal["budget", "answer_now"]


class Forced(NamedTuple):
    """The next token, whatever the model would have."""

    id: int
    by: Cause | None
    """The reason why the thinking ends. None: it begins."""


class ThinkingControl:
    """One answer's thinking, advanced token by token."""

    def __init__(self, thinking: Thinking, budget: int | None, piece: Piece, must_think: bool = False) -> None:
        """budget: most tokens before the tag at the end. must_think: the answer begins with thinking."""
        self._thinking = thinking
        self._budget = budget
        self._piece = piece
        self._must_think = must_think
        self._reader = ThinkingReader(thinking.begin, thinking.end, thinking.is_open)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._num_read = 0
        self._is_asked = False
        self.num_before_answer = 0
        """Tokens before the answer, once that has begun."""

    def answer_now(self) -> None:
        """End the thinking with the next token."""
        self._is_asked = True

    def is_answering(self, output: Sequence[int]) -> bool:
        """Return whether the next token belongs to the answer. output: all tokens so far."""
        for token in output[self._num_read :]:
            if self._reader.is_answering:
                break
            self._reader.feed(self._decoder.decode(self._piece(token)))
            self._num_read += 1
            self.num_before_answer = self._num_read
        return self._reader.is_answering

    def forced(self, output: Sequence[int]) -> Forced | None:
        """Return the token that must follow `output`; None: the model chooses."""
        if self.is_answering(output):
            return None
        if not self._reader.is_thinking:
            return self._beginning(output) if self._must_think else None
        is_spent = self._budget is not None and len(output) >= self._budget
        if not (self._is_asked or is_spent):
            return None
        return Forced(self._next_of_end(output), "answer_now" if self._is_asked else "budget")

    def _beginning(self, output: Sequence[int]) -> Forced | None:
        ids = self._thinking.begin_ids
        num = len(output)
        return Forced(ids[num], None) if num < len(ids) and tuple(output) == ids[:num] else None

    def _next_of_end(self, output: Sequence[int]) -> int:
        """The token after those of the tag that stand at the output's end already."""
        ids = self._thinking.end_ids
        num = next(num for num in range(len(ids) - 1, -1, -1) if tuple(output[len(output) - num :]) == ids[:num])
        return ids[num]
