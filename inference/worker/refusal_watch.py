"""Watches an answer's beginning for the model's own refusal, and changes nothing of it. Knows nothing of tokens."""

from __future__ import annotations

import time

from inference.eventlog.clock import Clock
from inference.protocol.events import FoundSpan, SafetyChecked, SafetyScore
from inference.safety import refusals


class RefusalWatch:
    """Looks at each answer until it is recognised, or has gone on otherwise."""

    def __init__(self, clock: Clock, is_on: bool) -> None:
        self._clock = clock
        self._text = ""
        self._is_over = not is_on
        self._duration_ns = 0

    def resume(self, shown: str) -> None:
        """Go on after text that an earlier attempt, or another answer, has shown."""
        self._text = shown
        self._is_over = self._is_over or len(shown) >= refusals.LONGEST or refusals.opening(shown) is not None

    def add(self, text: str) -> list[SafetyChecked]:
        """Return the event, if the answer turns out to be a refusal with this text."""
        if self._is_over or not text:
            return []
        start = time.perf_counter_ns()
        self._text += text
        found = refusals.opening(self._text)
        self._is_over = found is not None or len(self._text) >= refusals.LONGEST
        self._duration_ns += time.perf_counter_ns() - start
        return [] if found is None else [self._event(found)]

    def _event(self, found: refusals.Opening) -> SafetyChecked:
        score = SafetyScore(category="refusal", score=1.0, threshold=1.0, verdict="allow")
        span = FoundSpan(kind="opening", category="refusal", start=found.start, end=found.end)
        return SafetyChecked(
            at=self._clock.at(),
            layer="refusal",
            classifier=refusals.NAME,
            version=refusals.VERSION,
            policy="",
            scores=(score,),
            verdict="allow",
            start=found.start,
            end=found.end,
            duration_us=self._duration_ns // 1000,
            findings=(span,),
        )
