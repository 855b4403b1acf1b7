"""Finds what stands out in a period: runs the detectors, puts the weightiest first, and says each in words.

Knows nothing of HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date

from webapp.ground.gateway.structs import Result
from webapp.usage.findings.detectors import cache, causes, cost, growth, slow_hours, spender, workers
from webapp.usage.findings.finding import SEVERITIES, Evidence, Finding, Lead, Suspicion
from webapp.usage.findings.history import History
from webapp.usage.findings.reading import covered, read_history
from webapp.usage.period import Period
from webapp.usage.sums import Filter

DETECTORS: tuple[Callable[[History], Iterator[Suspicion]], ...] = (
    cost.find,
    slow_hours.find,
    causes.find,
    cache.find,
    workers.find,
    spender.find,
    growth.find,
)
MAX_FINDINGS = 20


class Findings(Result):
    """What stands out in a period."""

    first: date
    """First of the covered days: the period's last 35 at most."""
    last: date
    num_days_known: int
    """Earlier days with usage, with which the period was compared."""
    findings: list[Finding]
    """The weightiest first."""


def findings(period: Period, chosen: Filter, evidence: Evidence) -> Findings:
    """Return what stands out among the chosen requests. Raises BadPeriod, OverflowError."""
    part = covered(period)
    history = read_history(part, chosen)
    return Findings(part.first, part.last, history.num_known, found_in(history, evidence))


def found_in(history: History, evidence: Evidence) -> list[Finding]:
    """Return the findings of a history, the weightiest first."""
    told = (_finding(each, history, evidence) for each in suspicions(history)[:MAX_FINDINGS])
    return [finding for finding in told if finding is not None]


def suspicions(history: History) -> list[Suspicion]:
    """Return what the detectors suspect, the weightiest first."""
    found = [suspicion for find in DETECTORS for suspicion in find(history)]
    return sorted(found, key=lambda each: (SEVERITIES.index(each.severity), -each.size, each.key))


def _finding(suspicion: Suspicion, history: History, evidence: Evidence) -> Finding | None:
    told = suspicion.tell(history, evidence)
    if told is None:
        return None
    first, last = suspicion.span.start, suspicion.span.end
    days = [day for day in history.days if history.span(day, day).start < last and history.span(day, day).end > first]
    return Finding(
        key=suspicion.key,
        kind=suspicion.kind,
        severity=suspicion.severity,
        title=told.title,
        why=" ".join(told.why),
        start=first,
        end=last,
        lead=Lead(first=history.date(days[0]), last=history.date(days[-1]), **suspicion.lead),
        requests=list(told.requests),
    )
