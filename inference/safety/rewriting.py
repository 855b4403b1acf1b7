"""Replaces findings by their kind in brackets. Knows nothing of policies: the caller names the categories."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from inference.protocol.events import FoundSpan
from inference.safety.findings import Finding


@dataclass(frozen=True)
class Rewritten:
    """A text with some findings replaced."""

    text: str
    findings: tuple[FoundSpan, ...]
    """By their places in the new text."""


def rewrite(text: str, findings: Sequence[Finding], categories: Collection[str], offset: int = 0) -> Rewritten:
    """Replace the findings of these categories. findings: in order, without overlaps. offset: the text's own place."""
    parts: list[str] = []
    spans: list[FoundSpan] = []
    done = place = 0
    for each in findings:
        is_rewritten = each.category in categories
        shown = replacement_of(each) if is_rewritten else text[each.start : each.end]
        start = place + each.start - done
        parts += [text[done : each.start], shown]
        done, place = each.end, start + len(shown)
        found = FoundSpan(
            kind=each.kind,
            category=each.category,
            start=offset + start,
            end=offset + place,
            is_rewritten=is_rewritten,
        )
        spans.append(found)
    return Rewritten("".join([*parts, text[done:]]), tuple(spans))


def replacement_of(finding: Finding) -> str:
    return f"[{finding.kind}]"
