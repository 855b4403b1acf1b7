"""From scores to a verdict, under a policy. Pure: the same for a check and for a saved one under another policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from inference.protocol.events import SafetyScore
from inference.protocol.safety_policy import Layer, Policy, Verdict

_SEVERITY: dict[Verdict, int] = {"allow": 0, "flag": 1, "rewrite": 2, "block": 3}


def judge(policy: Policy, layer: Layer, scores: Mapping[str, float]) -> list[SafetyScore]:
    """Return one sentence's scores in the policy's order; a higher score for need turns blocks into flags."""
    judged = [_judged(policy, layer, category, scores[category]) for category in policy.thresholds(layer).flag]
    flagged = [score for score in judged if score.verdict == "flag"]
    need = max((score.score for score in flagged if score.category in policy.help_first), default=0.0)
    is_need = all(score.score < need for score in judged if score.verdict == "block")
    return [replace(score, verdict="flag") if is_need and score.verdict == "block" else score for score in judged]


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """`allow` where there is none."""
    return max(verdicts, key=_SEVERITY.__getitem__, default="allow")


def weight(score: SafetyScore) -> tuple[int, float]:
    """Orders scores by verdict, then by height."""
    return _SEVERITY[score.verdict], score.score


def _judged(policy: Policy, layer: Layer, category: str, score: float) -> SafetyScore:
    verdict, threshold = policy.judge(layer, category, score)
    return SafetyScore(category=category, score=round(score, 4), threshold=threshold, verdict=verdict)
