"""One check of one text: classify its sentences, apply the policy to each, time it. Knows nothing of requests."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from inference.protocol.events import SafetyChecked, SafetyScore
from inference.safety.classifier import ExemplarClassifier
from inference.safety.minilm import MiniLM, bundled_minilm
from inference.safety.policy import DEFAULT_POLICY, Layer, Policy, PolicyError, Release, Verdict, load_policy

_SEVERITY: dict[Verdict, int] = {"allow": 0, "flag": 1, "block": 2}


@dataclass(frozen=True)
class Check:
    """The outcome of one check."""

    scores: tuple[SafetyScore, ...]
    verdict: Verdict
    category: str
    """The deciding category; empty when the text is allowed."""
    replacement: str
    """The text to show in place of a blocked or withheld one."""
    classifier: str
    version: str
    policy: str
    duration_us: int

    def event(self, at: int, layer: Layer, start: int, end: int, buffered_us: int = 0) -> SafetyChecked:
        return SafetyChecked(
            at=at,
            layer=layer,
            classifier=self.classifier,
            version=self.version,
            policy=self.policy,
            scores=self.scores,
            verdict=self.verdict,
            start=start,
            end=end,
            duration_us=self.duration_us,
            buffered_us=buffered_us,
        )


class Guard:
    """A classifier and a policy; safe between threads."""

    def __init__(self, classifier: ExemplarClassifier, policy: Policy) -> None:
        self._classifier = classifier
        self._policy = policy

    @property
    def release(self) -> Release:
        return self._policy.release

    def check(self, text: str, layer: Layer, principal: str | None = None) -> Check:
        """Classify the text and apply the policy of this layer. principal: as in ExemplarClassifier.score."""
        start = time.perf_counter_ns()
        sentences = [self._judged(layer, scores) for scores in self._classifier.score(text, principal)]
        judged = [max(found, key=_weight) for found in zip(*sentences, strict=True)]
        worst = max(judged, key=_weight)
        category = "" if worst.verdict == "allow" else worst.category
        return Check(
            scores=tuple(judged),
            verdict=worst.verdict,
            category=category,
            replacement=self._policy.replacement.get(category, ""),
            classifier=self._classifier.name,
            version=self._classifier.version,
            policy=self._policy.label,
            duration_us=(time.perf_counter_ns() - start) // 1000,
        )

    def _judged(self, layer: Layer, scores: dict[str, float]) -> list[SafetyScore]:
        """Return one sentence's scores in the policy's order; a higher score for need turns blocks into flags."""
        judged = [self._judge(layer, category, scores[category]) for category in self._policy.thresholds(layer).flag]
        flagged = [score for score in judged if score.verdict == "flag"]
        need = max((score.score for score in flagged if score.category in self._policy.help_first), default=0.0)
        is_need = all(score.score < need for score in judged if score.verdict == "block")
        return [replace(score, verdict="flag") if is_need and score.verdict == "block" else score for score in judged]

    def _judge(self, layer: Layer, category: str, score: float) -> SafetyScore:
        verdict, threshold = self._policy.judge(layer, category, score)
        return SafetyScore(category=category, score=round(score, 4), threshold=threshold, verdict=verdict)


def _weight(score: SafetyScore) -> tuple[int, float]:
    return _SEVERITY[score.verdict], score.score


def load_guard(policy_path: Path | None = None, model_folder: Path | None = None) -> Guard:
    """Load the policy and the classifier. Raises PolicyError, SafetyModelError."""
    policy = load_policy(policy_path)
    classifier = ExemplarClassifier(MiniLM(model_folder or bundled_minilm()))
    if unknown := sorted((policy.input.flag.keys() | policy.output.flag.keys()) - set(classifier.categories)):
        raise PolicyError(f"the safety policy {policy_path or DEFAULT_POLICY} names unknown categories: {unknown}")
    return Guard(classifier, policy)
