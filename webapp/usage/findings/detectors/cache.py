"""Days on which far less of the input than usual came from the cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from webapp.usage.findings.finding import Evidence, Severity, Suspicion, Told
from webapp.usage.findings.history import History, Use, joined
from webapp.usage.findings.usual import runs, usual
from webapp.usage.findings.words import counted, days_name, only, percent

_FALL = 0.2
"""Few requests scatter more: one divided by the root of their number is added."""
_HIGH_FALL = 0.4
_SIGMAS = 4.0
_MIN_REQUESTS = 20
_MIN_USUAL = 0.2
_TELLING = 0.6
"""A user explains the fall if it is smaller by this share without them."""


@dataclass(frozen=True, kw_only=True)
class CacheFall(Suspicion):
    """Days with a low hit rate."""

    first: int
    last: int
    share: float
    usual_share: float
    model: str

    def tell(self, history: History, evidence: Evidence) -> Told:
        days = days_name(history.date(self.first), history.date(self.last))
        of = f" of {self.model}" if self.model else ""
        whose = "your" if evidence.is_own else "the"
        against = f"against {percent(self.usual_share)} on usual days"
        title = f"{only(self.share)} of {whose} input{of} came from the cache {days}, {against}."
        conditions: dict[str, Any] = {"model": self.model} if self.model else {}
        why = []
        if not self.model and not evidence.is_own and (user := self._blamed(history)) is not None:
            conditions["user_id"] = user
            why = self._without(user, history, evidence)
        return Told(title, why, evidence.top(self.span, "uncached", **conditions))

    def _blamed(self, history: History) -> int | None:
        """The user without whom the share would have fallen least. None: it would have fallen all the same."""
        shares = {user: self._share_without(user, history) for user in history.users}
        user = max(shares, key=lambda each: shares[each], default=None)
        wanted = self.share + _TELLING * (self.usual_share - self.share)
        return user if user is not None and shares[user] >= wanted else None

    def _share_without(self, user: int, history: History) -> float:
        rest = {other: series for other, series in history.users.items() if other != user}
        return joined(series[day] for series in rest.values() for day in range(self.first, self.last + 1)).cached_share

    def _without(self, user: int, history: History, evidence: Evidence) -> list[str]:
        own = joined(history.users[user][self.first : self.last + 1])
        name, requests = evidence.name(user), counted(own.num_requests, "request")
        return [
            f"{name}'s {requests} took {percent(own.cached_share)} of their input from the cache.",
            f"Without them the share was {percent(self._share_without(user, history))}.",
        ]


def find(history: History) -> Iterator[Suspicion]:
    """Find days with a low share, of all requests, or else of one model's."""
    whole = list(_falls({"": history.whole}, history))
    yield from whole
    named = {day for fall in whole for day in range(fall.first, fall.last + 1)}
    if len(history.models) > 1:
        yield from (fall for fall in _falls(history.models, history) if fall.first not in named)


def _falls(parts: Mapping[str, Sequence[Use]], history: History) -> Iterator[CacheFall]:
    for model, series in parts.items():
        found = {day: middle for day in history.days if (middle := _usual_share(series, day, history)) is not None}
        for first, last in runs(sorted(found)):
            share = joined(series[first : last + 1]).cached_share
            middle = sum(found[day] for day in range(first, last + 1)) / (last - first + 1)
            fall = middle - share
            severity: Severity = "high" if fall >= _HIGH_FALL and not model else "medium"
            lead = {"model": model} if model else {}
            span = history.span(first, last)
            yield CacheFall(
                "cache",
                severity,
                span,
                1 + 10 * fall,
                model,
                lead,
                first=first,
                last=last,
                share=share,
                usual_share=middle,
                model=model,
            )


def _usual_share(series: Sequence[Use], day: int, history: History) -> float | None:
    """The usual share, where the day's lies far below. None: it does not, or too little is known."""
    base = history.baseline(day)
    if base is None or series[day].num_requests < _MIN_REQUESTS or not series[day].known_input:
        return None
    known = [series[each].cached_share for each in base.days if series[each].known_input]
    if len(known) < 3:
        return None
    normal = usual(known)
    fall = normal.middle - series[day].cached_share
    least = max(_FALL + 1 / sqrt(series[day].num_requests), _SIGMAS * normal.spread)
    is_low = normal.middle >= _MIN_USUAL and fall >= least
    return normal.middle if is_low else None
