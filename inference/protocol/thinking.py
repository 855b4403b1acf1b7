"""Splits an answer into what the model thinks first and what it says. Pure: text in, parts out.

A model that thinks writes its thoughts between two tags. Engine, output guard and preparation of a fork use this one
reader. All others read the events that the guard makes of it. Knows nothing of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

MIN_BUDGET = 1024
"""Least budget that Anthropic's API takes."""

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
"""OpenAI's words for the length of the thinking."""
BUDGETS: dict[Effort, int | None] = {
    "none": 0,
    "minimal": 256,
    "low": 1024,
    "medium": 4096,
    "high": 16_384,
    "xhigh": None,
}
"""Most tokens of thinking for each. None: no limit but that of the answer."""


class ThinkingTags(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tags between which a model writes what it thinks, as its chat template names them."""

    begin: str
    end: str
    begin_ids: tuple[int, ...]
    end_ids: tuple[int, ...]
    """Tokens of the tag that ends the thinking. They are forced where a budget or a person ends it."""


class Thinking(ThinkingTags, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The thinking with which an answer may begin."""

    is_open: bool = False
    """True: the prompt ends with the tag that begins the thinking, so that the answer begins within it."""


Kind = Literal["thought", "tag", "gap", "answer"]


@dataclass(frozen=True)
class Part:
    """A stretch of an answer.

    `tag`: a tag with the white space between it and the thinking. `gap`: white space before the answer. Neither is
    shown.
    """

    kind: Kind
    text: str


class ThinkingReader:
    """Reads an answer piece by piece. The parts hold all of its text, and do not depend on how it was cut.

    Thinking stands at the beginning alone. Text that may be the beginning of a tag is held back until that is known.
    """

    def __init__(self, begin: str, end: str, is_open: bool = False) -> None:
        self._begin, self._end = begin, end
        self._place: Literal["start", "open", "edge", "thought", "gap", "answer"] = "open" if is_open else "start"
        self._held = ""

    @property
    def is_thinking(self) -> bool:
        """True from the tag that begins the thinking to the one that ends it."""
        return self._place in ("open", "edge", "thought")

    @property
    def is_answering(self) -> bool:
        """True once the text is the answer's, or white space before it."""
        return self._place in ("gap", "answer")

    @property
    def num_held(self) -> int:
        """Characters that are held back."""
        return len(self._held)

    def feed(self, text: str) -> list[Part]:
        """Return the parts that are sure now."""
        self._held += text
        parts: list[Part] = []
        while self._held:
            place, num_held = self._place, len(self._held)
            parts += self._next()
            if (place, num_held) == (self._place, len(self._held)):
                break
        return parts

    def decide(self, num: int) -> list[Part]:
        """Return so many of the characters that are held back: more is known of them than that they were read."""
        return self._take(num, "answer" if self._place == "start" else "thought")

    def end(self) -> list[Part]:
        """Return what was held back, once no more text comes."""
        held, self._held = self._held, ""
        if not held:
            return []
        if self._place == "start":
            return [Part("answer", held)]
        return [Part("thought", held) if held.strip() else Part("tag", held)]

    def _next(self) -> list[Part]:
        match self._place:
            case "start" | "open":
                return self._first_tag()
            case "edge" | "gap":
                return self._space()
            case "thought":
                return self._thought()
            case "answer":
                return self._take(len(self._held), "answer")

    def _first_tag(self) -> list[Part]:
        """The tag that begins the thinking. A model may repeat one that its template has written."""
        text = self._held.lstrip()
        if text.startswith(self._begin):
            self._place = "edge"
            return self._take(len(self._held) - len(text) + len(self._begin), "tag")
        if not self._begin.startswith(text):
            self._place = "edge" if self._place == "open" else "answer"
        return []

    def _space(self) -> list[Part]:
        """White space after a tag."""
        is_edge = self._place == "edge"
        num = len(self._held) - len(self._held.lstrip())
        if num < len(self._held):
            self._place = "thought" if is_edge else "answer"
        return self._take(num, "tag" if is_edge else "gap")

    def _thought(self) -> list[Part]:
        found = self._held.find(self._end)
        if found < 0:
            return self._take(len(self._held) - self._num_waiting(), "thought")
        self._place = "gap"
        thought = self._held[:found].rstrip()
        tag = len(self._held[len(thought) : found]) + len(self._end)
        return [*self._take(len(thought), "thought"), *self._take(tag, "tag")]

    def _num_waiting(self) -> int:
        """Characters at the end that may be the beginning of the last tag, with the white space before them."""
        text = self._held
        sizes = range(min(len(text), len(self._end) - 1), 0, -1)
        size = next((size for size in sizes if text.endswith(self._end[:size])), 0)
        return len(text) - len(text[: len(text) - size].rstrip())

    def _take(self, num: int, kind: Kind) -> list[Part]:
        taken, self._held = self._held[:num], self._held[num:]
        return [Part(kind, taken)] if taken else []
