"""One check of one text: undo disguises, find data, classify sentences, apply the policy, time it.

Knows nothing of requests.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from inference.protocol.events import Disguise, FoundSpan, SafetyChecked, SafetyScore
from inference.protocol.safety_policy import FOUND, Action, Layer, Policy, Release, Verdict
from inference.safety import findings as data
from inference.safety.classifier import ExemplarClassifier
from inference.safety.findings import Finding
from inference.safety.folding import Folded, Folding
from inference.safety.judging import judge, weight
from inference.safety.minilm import Keep, MiniLM, bundled_minilm
from inference.safety.policy import load_policy
from inference.safety.rewriting import rewrite


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
    disguises: tuple[Disguise, ...] = ()
    findings: tuple[FoundSpan, ...] = ()
    text: str = ""
    """The checked text, with replacements where the policy rewrites."""

    @property
    def passed_on(self) -> str:
        """The text that the model reads of a tool's result: the policy's own where it blocks."""
        return self.replacement if self.verdict == "block" else self.text

    def is_stopping(self, can_rewrite: bool = True) -> bool:
        """Return whether the text must not be used. can_rewrite: `text` takes its place, where the policy rewrites."""
        return self.verdict == "block" or (self.verdict == "rewrite" and not can_rewrite)

    def of_known_text(self) -> Check:
        """The check of a text that its reader has written or seen: what would be rewritten is flagged."""
        if self.verdict != "rewrite":
            return self
        scores = (replace(each, verdict="flag") if each.verdict == "rewrite" else each for each in self.scores)
        found = (replace(each, is_rewritten=False) for each in self.findings)
        return dataclasses.replace(self, verdict="flag", scores=tuple(scores), findings=tuple(found), text="")

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
            disguises=self.disguises,
            findings=self.findings,
        )


@dataclass(frozen=True)
class Scan:
    """The personal data and secrets of a text that may go on."""

    findings: tuple[Finding, ...]
    open_from: int
    """From here the text may still become a finding, or part of one."""


class Guard:
    """A classifier and a policy; safe between threads."""

    def __init__(self, classifier: ExemplarClassifier, policy: Policy, folding: Folding) -> None:
        self._classifier = classifier
        self._policy = policy
        self._folding = folding

    @property
    def policy(self) -> Policy:
        return self._policy

    @property
    def release(self) -> Release:
        return self._policy.release

    def under(self, policy: Policy) -> Guard:
        """The same classifier under another policy."""
        return Guard(self._classifier, policy, self._folding)

    def rewrites(self, layer: Layer) -> frozenset[str]:
        """Return the categories of which a finding is replaced."""
        return frozenset(each for each in FOUND if self._policy.does("rewrite", layer, each))

    def rewritten(self, text: str, layer: Layer) -> str:
        """Return the text with the replacements that the policy demands; unclassified."""
        categories = self.rewrites(layer)
        return rewrite(text, _findings(self._folding.fold(text)), categories).text if categories else text

    def may_withhold(self, layer: Layer) -> bool:
        """Return whether a finding keeps some of the text back."""
        actions: tuple[Action, ...] = ("rewrite", "block")
        return any(self._policy.does(action, layer, each) for action in actions for each in FOUND)

    def fold(self, text: str) -> Folded:
        """Undo the text's disguises."""
        return self._folding.fold(text)

    def scan(self, text: str) -> Scan:
        """Find personal data and secrets in a text that may go on."""
        folded = self._folding.fold(text)
        found = data.find(folded.text)
        place = data.open_from(folded.text, found)
        return Scan(tuple(_in_original(folded, found)), folded.places[place])

    def check(
        self,
        text: str,
        layer: Layer,
        principal: str | None = None,
        found: Sequence[Finding] | None = None,
        offset: int = 0,
    ) -> Check:
        """Classify the text and apply the policy of this layer.

        principal: as in ExemplarClassifier.score. found: the findings, where they are known already. offset: the place
        of the text in its answer.
        """
        start = time.perf_counter_ns()
        folded = self._folding.fold(text)
        known = _findings(folded) if found is None else found
        scores = {each: float(any(item.category == each for item in known)) for each in FOUND}
        read = f"{folded.text}\n{folded.hidden}" if folded.hidden else folded.text
        rows = self._classifier.score(read, principal)
        sentences = [judge(self._policy, layer, row | scores) for row in rows]
        judged = [max(column, key=weight) for column in zip(*sentences, strict=True)]
        worst = max(judged, key=weight)
        category = "" if worst.verdict == "allow" else worst.category
        rewritten = rewrite(text, known, self.rewrites(layer), offset)
        return Check(
            scores=tuple(judged),
            verdict=worst.verdict,
            category=category,
            replacement=self._policy.replacement.get(category, ""),
            classifier=self._classifier.name,
            version=self._classifier.version,
            policy=self._policy.label,
            duration_us=(time.perf_counter_ns() - start) // 1000,
            disguises=folded.disguises,
            findings=rewritten.findings,
            text=rewritten.text,
        )


def _findings(folded: Folded) -> list[Finding]:
    """The findings of a text, those of its hidden text at the place of the tags."""
    found = [*_in_original(folded, data.find(folded.text))]
    spelled = [each._replace(start=folded.hidden_at[0], end=folded.hidden_at[1]) for each in data.find(folded.hidden)]
    kept = [*found, *(each for each in spelled[:1] if all(_are_apart(each, other) for other in found))]
    return sorted(kept, key=lambda each: each.start)


def _are_apart(one: Finding, other: Finding) -> bool:
    return one.end <= other.start or other.end <= one.start


def _in_original(folded: Folded, found: Sequence[Finding]) -> list[Finding]:
    spans = [folded.span(each.start, each.end) for each in found]
    return [each._replace(start=start, end=end) for each, (start, end) in zip(found, spans, strict=True)]


def load_guard(
    policy_path: Path | None = None, model: MiniLM | None = None, keep: Keep = lambda _key, build: build()
) -> Guard:
    """Load the policy and the classifier. model: one that is loaded already. keep: see Keep.

    Raises PolicyError, SafetyModelError.
    """
    policy = load_policy(policy_path)  # it refuses in milliseconds; the classifier takes a second
    classifier = ExemplarClassifier(model or MiniLM(bundled_minilm(), keep), keep=keep)
    return Guard(classifier, policy, Folding())
