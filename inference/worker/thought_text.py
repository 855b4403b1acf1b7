"""Tells which stretches of the waiting text are thoughts, tags and answer. Knows nothing of checks or the log."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from inference.protocol.events import ThinkingEnded, TokenSampled
from inference.protocol.thinking import Kind, Part, Thinking, ThinkingReader
from inference.safety.findings import Finding
from inference.safety.rewriting import rewrite

Cause = Literal["model", "budget", "answer_now", "cut"]


class ThoughtText:
    """The kinds of the waiting text, from its beginning. Without thinking all of it is answer."""

    def __init__(self, thinking: Thinking | None) -> None:
        self._reader = None
        if thinking is not None:
            self._reader = ThinkingReader(thinking.begin, thinking.end, thinking.is_open)
        self._stretches: list[tuple[Kind, int]] = []
        """The kind and length of each stretch that waits."""

    @property
    def is_on(self) -> bool:
        """Return whether the answer may begin with thinking."""
        return self._reader is not None

    @property
    def is_thinking(self) -> bool:
        return self._reader is not None and self._reader.is_thinking

    @property
    def num_undecided(self) -> int:
        """Characters at the end that may be a part of a tag."""
        return 0 if self._reader is None else self._reader.num_held

    @property
    def answer_start(self) -> int | None:
        """The place in the waiting text at which the answer begins; None: it has not begun."""
        if self._reader is None:
            return 0
        return self._length("thought", "tag", "gap") if self._reader.is_answering else None

    @property
    def thinking_end(self) -> int:
        """The place in the waiting text at which a thinking that is over ends; 0: none waits."""
        is_over = self._reader is not None and self._reader.is_answering
        return self._length("thought", "tag") if is_over else 0

    def _length(self, *kinds: Kind) -> int:
        return sum(length for kind, length in self._stretches if kind in kinds)

    def add(self, text: str) -> None:
        """Take in the text that follows."""
        if self._reader is not None:
            self._keep(self._reader.feed(text))

    def end(self) -> None:
        """Decide on the last characters: no more text comes."""
        if self._reader is not None:
            self._keep(self._reader.end())

    def _keep(self, parts: Sequence[Part]) -> None:
        for part in parts:
            kind, length = self._stretches[-1] if self._stretches else (part.kind, 0)
            if kind == part.kind:
                self._stretches[-1:] = [(kind, length + len(part.text))]
            else:
                self._stretches.append((part.kind, len(part.text)))

    def cut(self, num: int) -> None:
        """Leave the first `num` characters of the waiting text, which ends there."""
        kept, self._stretches = self._stretches, []
        for kind, length in kept:
            if num > 0:
                self._stretches.append((kind, min(length, num)))
            num -= length

    def num_shown(self, num_thought: int, num_answer: int) -> int:
        """Return the number of waiting characters up to which so many of the thinking and the answer were shown."""
        if self._reader is None:
            return num_answer
        left: dict[Kind, int] = {"thought": num_thought, "answer": num_answer}
        for kind in left:
            self._keep(self._reader.decide(max(0, left[kind] - self._length(kind))))
        num = 0
        for kind, length in self._stretches:
            shown = min(length, left[kind]) if kind in left else length
            num += shown
            if shown < length:
                break
        return num

    def take(self, text: str) -> list[Part]:
        """Return the parts of the first waiting characters, which are this text and wait no more."""
        if self._reader is None:
            return [Part("answer", text)] if text else []
        parts: list[Part] = []
        while text and self._stretches:
            kind, length = self._stretches.pop(0)
            parts.append(Part(kind, text[:length]))
            if len(text) < length:
                self._stretches.insert(0, (kind, length - len(text)))
            text = text[length:]
        return parts


def rewritten_parts(parts: Sequence[Part], found: Sequence[Finding], categories: Collection[str]) -> list[Part]:
    """Return the parts of a text with its findings replaced, in each part that they touch."""
    rewritten: list[Part] = []
    start = 0
    for part in parts:
        end = start + len(part.text)
        own = [
            each._replace(start=max(each.start, start) - start, end=min(each.end, end) - start)
            for each in found
            if each.start < end and start < each.end
        ]
        rewritten.append(Part(part.kind, rewrite(part.text, own, categories).text))
        start = end
    return rewritten


class ThinkingFigures:
    """What an answer's thinking amounts to, token by token."""

    def __init__(self) -> None:
        self._began_at: int | None = None
        self._ended_at = 0
        self._cause: Cause = "model"
        self.num_tokens = 0
        self.is_over = False

    def add(self, tokens: Sequence[TokenSampled]) -> None:
        """Count released tokens of the thinking."""
        for token in tokens:
            self._began_at = token.at if self._began_at is None else self._began_at
            self._ended_at = token.at
            self.num_tokens += 1
            if token.chosen_by in ("budget", "answer_now"):
                self._cause = token.chosen_by

    def resume(self, tokens: Sequence[TokenSampled], is_over: bool) -> None:
        """Go on after the tokens that an earlier attempt released. is_over: the thinking ended before."""
        self.is_over = is_over
        if not is_over:
            self.add(tokens)

    def end(self, at: int, is_cut: bool = False) -> list[ThinkingEnded]:
        """Return the event of the end, once. is_cut: the generation ends within the thinking."""
        if self.is_over or self._began_at is None:
            return []
        self.is_over = True
        return [
            ThinkingEnded(
                at=at,
                num_tokens=self.num_tokens,
                duration_us=self._ended_at - self._began_at,
                cause="cut" if is_cut else self._cause,
            )
        ]
