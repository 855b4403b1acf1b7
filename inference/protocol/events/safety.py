"""Events of the safety checks. Knows nothing of classifiers and policies."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import GenerationEvent, Value
from inference.protocol.events.shown import Shown

DisguiseKind = Literal["homoglyph", "compatibility", "zero_width", "bidi", "tag"]
FindingKind = Literal[
    "e-mail",
    "phone number",
    "card number",
    "bank account",
    "social security number",
    "private key",
    "web token",
    "cloud key",
    "access token",
    "API key",
    "opening",
]


class SafetyScore(Value, frozen=True, kw_only=True):
    """One category's score."""

    category: str
    score: float
    """0 to 1."""
    threshold: float
    """At or above this score the verdict of this category applies."""
    verdict: Literal["allow", "flag", "rewrite", "block"]
    """Outcome of this score."""

    unredacted: ClassVar = "category score threshold verdict"


class Disguise(Value, frozen=True, kw_only=True):
    """Characters of one kind that were folded or dropped before the check."""

    kind: DisguiseKind
    """`homoglyph`: looks like a Latin letter. `compatibility`: another form of one. The others are invisible."""
    num: int

    unredacted: ClassVar = "kind num"


class FoundSpan(Value, frozen=True, kw_only=True):
    """A piece of personal data, a secret or the opening of a refusal. Its text is not recorded."""

    kind: FindingKind
    category: str
    start: int
    """Index of its first character. Where it was rewritten, of its replacement's."""
    end: int
    """One past the last character."""
    is_rewritten: bool = False
    """True: `[kind]` stands in its place, and its tokens are not recorded."""

    unredacted: ClassVar = "kind category start end is_rewritten"


class SafetyChecked(GenerationEvent, frozen=True, kw_only=True, tag="safety.checked"):
    """A classifier checked a piece of text. A check of the input belongs to generation 0."""

    layer: Literal["input", "tool_result", "output", "refusal"]
    """Files and memories are checked like the result of a tool: their text is data, and no wish of the user. `refusal`:
    the model itself refused. It is recorded only then, and changes nothing of the answer."""
    subject: str = ""
    """Source of the checked text where it is a part of the prompt: `attachment:<id>`, or `memory` for all memories."""
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
    disguises: tuple[Disguise, ...] = ()
    """Unicode tricks that were undone before the check."""
    findings: tuple[FoundSpan, ...] = ()
    """Personal data and secrets, by their places in the message, the result or the answer as it is shown."""

    unredacted: ClassVar = (
        "layer classifier version policy scores verdict start end duration_us buffered_us disguises findings"
    )
    shown: ClassVar = Shown(lane="safety", replay_ms=1000)
