"""The policy file: thresholds, replacement texts, how much text is checked at once. Knows nothing of classifiers."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import msgspec

DEFAULT_POLICY = Path(__file__).with_name("policy.toml")

Layer = Literal["input", "tool_result", "output"]
Verdict = Literal["allow", "flag", "block"]


class PolicyError(Exception):
    """The policy file cannot be used; the message says why."""


class Thresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Per category: the score from which it is flagged, and from which it is blocked."""

    flag: dict[str, float]
    block: dict[str, float] = {}


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """After how many tokens generated text is checked."""

    first_tokens: int
    every_tokens: int


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One policy file."""

    name: str
    version: str
    release: Release
    input: Thresholds
    output: Thresholds
    replacement: dict[str, str]

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"

    def thresholds(self, layer: Layer) -> Thresholds:
        return self.output if layer == "output" else self.input

    def judge(self, layer: Layer, category: str, score: float) -> tuple[Verdict, float]:
        """The verdict for one score, and the threshold it was held against."""
        thresholds = self.thresholds(layer)
        block = thresholds.block.get(category)
        if block is not None and score >= block:
            return "block", block
        flag = thresholds.flag[category]
        return ("flag" if score >= flag else "allow"), flag


def load_policy(path: Path | None = None) -> Policy:
    """Raises PolicyError."""
    path = path or DEFAULT_POLICY
    try:
        policy = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Policy)
    except (OSError, ValueError) as error:  # msgspec and tomllib errors are ValueErrors
        raise PolicyError(f"the safety policy {path} cannot be used: {error}") from error
    for thresholds in (policy.input, policy.output):
        values = [*thresholds.flag.values(), *thresholds.block.values()]
        if not all(0 <= value <= 1 for value in values):
            raise PolicyError(f"the safety policy {path} has a threshold outside 0 to 1")
        if missing := thresholds.block.keys() - thresholds.flag.keys():
            raise PolicyError(f"the safety policy {path} blocks {sorted(missing)} without a flag threshold")
    return policy
