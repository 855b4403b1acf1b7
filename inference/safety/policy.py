"""The policy file: thresholds, replacement texts, amount of text per check. Knows nothing of classifiers."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec

DEFAULT_POLICY = Path(__file__).with_name("policy.toml")

Layer = Literal["input", "tool_result", "output"]
Verdict = Literal["allow", "flag", "block"]


class PolicyError(Exception):
    """The policy file cannot be used; the message says why."""


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


def load_policy(path: Path | None = None) -> Policy:
    """Load and check a policy file. Raises PolicyError."""
    path = path or DEFAULT_POLICY
    try:
        policy = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Policy)
    except (OSError, ValueError) as error:  # msgspec and tomllib errors are ValueErrors
        raise PolicyError(f"the safety policy {path} cannot be used: {error}") from error
    problems = [problem for thresholds in (policy.input, policy.output) for problem in _problems(thresholds, policy)]
    if problems:
        raise PolicyError(f"the safety policy {path} {problems[0]}")
    return policy


def _problems(thresholds: Thresholds, policy: Policy) -> Iterator[str]:
    """Yield the problems of one layer's thresholds, each as the end of a sentence."""
    flag, block = thresholds.flag, thresholds.block
    if not flag:
        yield "has a layer without any flag threshold"
    if not all(0 <= value <= 1 for value in (*flag.values(), *block.values())):
        yield "has a threshold outside 0 to 1"
    if missing := sorted(block.keys() - flag.keys()):
        yield f"blocks {missing} without a flag threshold"
    elif lower := sorted(category for category in block if block[category] < flag[category]):
        yield f"blocks {lower} below the flag threshold"
    if silent := sorted(block.keys() - policy.replacement.keys()):
        yield f"blocks {silent} without a replacement text"
