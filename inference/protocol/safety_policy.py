"""The safety policy: thresholds, replacement texts, amount of text per check. Knows nothing of classifiers."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Layer = Literal["input", "tool_result", "output"]
Verdict = Literal["allow", "flag", "block"]


class Thresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Per category: the lowest score that is flagged, and the lowest that is blocked."""

    flag: dict[str, float]
    block: dict[str, float] = {}


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of generated tokens between checks."""

    first_tokens: Annotated[int, msgspec.Meta(ge=1)]
    every_tokens: Annotated[int, msgspec.Meta(ge=1)]


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One policy file."""

    name: str
    version: str
    release: Release
    input: Thresholds
    output: Thresholds
    replacement: dict[str, str]
    help_first: tuple[str, ...] = ()
    """Categories that turn a sentence's block into a flag where their score for that sentence is higher."""

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"

    def thresholds(self, layer: Layer) -> Thresholds:
        return self.output if layer == "output" else self.input

    def judge(self, layer: Layer, category: str, score: float) -> tuple[Verdict, float]:
        """Return the verdict for one score, and the threshold it was compared with."""
        thresholds = self.thresholds(layer)
        block = thresholds.block.get(category)
        if block is not None and score >= block:
            return "block", block
        flag = thresholds.flag[category]
        return ("flag" if score >= flag else "allow"), flag
