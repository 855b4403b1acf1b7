"""One check of one text: classify its sentences, apply the policy to each, time it. Knows nothing of requests."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from inference.protocol.events import SafetyChecked, SafetyScore
from inference.protocol.safety_policy import Layer, Policy, Release, Verdict
from inference.safety.classifier import ExemplarClassifier
from inference.safety.judging import judge, weight
from inference.safety.minilm import Keep, MiniLM, bundled_minilm
from inference.safety.policy import DEFAULT_POLICY, PolicyError, load_policy


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

    def under(self, policy: Policy) -> Guard:
        """The same classifier under another policy."""
        return Guard(self._classifier, policy)

    def check(self, text: str, layer: Layer, principal: str | None = None) -> Check:
        """Classify the text and apply the policy of this layer. principal: as in ExemplarClassifier.score."""
        start = time.perf_counter_ns()
        sentences = [judge(self._policy, layer, scores) for scores in self._classifier.score(text, principal)]
        judged = [max(found, key=weight) for found in zip(*sentences, strict=True)]
        worst = max(judged, key=weight)
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


def load_guard(
    policy_path: Path | None = None, model_folder: Path | None = None, keep: Keep = lambda _key, build: build()
) -> Guard:
    """Load the policy and the classifier. keep: see Keep. Raises PolicyError, SafetyModelError."""
    policy = load_policy(policy_path)
    classifier = ExemplarClassifier(MiniLM(model_folder or bundled_minilm(), keep), keep=keep)
    if unknown := sorted((policy.input.flag.keys() | policy.output.flag.keys()) - set(classifier.categories)):
        raise PolicyError(f"the safety policy {policy_path or DEFAULT_POLICY} names unknown categories: {unknown}")
    return Guard(classifier, policy)
