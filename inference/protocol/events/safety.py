"""Events of the safety checks. Knows nothing of classifiers and policies."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import GenerationEvent, Value
from inference.protocol.events.shown import Shown


class SafetyScore(Value, frozen=True, kw_only=True):
    """One category's score."""

    category: str
    score: float
    """0 to 1."""
    threshold: float
    """At or above this score the verdict of this category applies."""
    verdict: Literal["allow", "flag", "block"]
    """Outcome of this score."""

    unredacted: ClassVar = "category score threshold verdict"


class SafetyChecked(GenerationEvent, frozen=True, kw_only=True, tag="safety.checked"):
    """A classifier checked a piece of text. A check of the input belongs to generation 0."""

    layer: Literal["input", "tool_result", "output"]
    classifier: str
    version: str
    policy: str
    """Name and version of the policy file that set the thresholds."""
    scores: tuple[SafetyScore, ...]
    verdict: Literal["allow", "flag", "rewrite", "block"]
    start: int
    """Index of the checked text's first character (input: in the message; output: in the answer)."""
    end: int
    """One past the last character."""
    duration_us: int
    buffered_us: int = 0
    """Output only: time for which the oldest text of this span waited for this check."""

    unredacted: ClassVar = "layer classifier version policy scores verdict start end duration_us buffered_us"
    shown: ClassVar = Shown(lane="safety", replay_ms=1000)
