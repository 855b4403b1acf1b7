"""Days on which far more requests than usual ended without an answer for the same cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import sqrt

from webapp.usage.findings.finding import Evidence, Seen, Severity, Suspicion, Told
from webapp.usage.findings.history import History, Span
from webapp.usage.findings.usual import runs
from webapp.usage.findings.words import cause, counted, days_name, hours_name, most, names

_MIN_REQUESTS = 5
_RATIO = 2.5
_SIGMAS = 4.0
_UNSEEN = 2
"""Two more earlier requests could have ended so by chance: among few requests a rate is not known well."""
_MOST = 0.8
"""Hours, workers or users are named when they have this share of the requests."""
_HIGH_SHARE = 0.05
_VERBS = {"failed": "failed", "refused": "were refused", "blocked": "were blocked", "withheld": "were withheld"}


@dataclass(frozen=True, kw_only=True)
class CauseRise(Suspicion):
    """Days with too many requests of one cause."""

    first: int
    last: int
    status: str
    code: str
    num: int
    expected: float

    def tell(self, history: History, evidence: Evidence) -> Told:
        seen = evidence.seen(self.span, status=self.status, error_code=self.code)
        span, is_narrow = _narrowed(seen, self.span)
        days = days_name(history.date(self.first), history.date(self.last))
        when = hours_name(span.start, span.end, history.zone) if is_narrow else days
        requests = f"{self.num:,} of your requests" if evidence.is_own else counted(self.num, "request")
        what = "" if cause(self.code) in _VERBS[self.status] else f" ({cause(self.code)})"
        usually = "none" if self.expected < 0.5 else f"{self.expected:,.0f}"
        title = f"{requests} {_VERBS[self.status]} {when}{what}; usual are {usually} a day."
        if self.last > self.first:
            title = title.replace("a day", "in as many days")
        top = evidence.top(span, "newest", status=self.status, error_code=self.code)
        return Told(title, self._why(seen, evidence), top)

    def _why(self, seen: Sequence[Seen], evidence: Evidence) -> list[str]:
        found = []
        if workers := _most([each.worker for each in seen if each.worker]):
            found.append(f"{most(workers.share)} last ran on {workers.name}.")
        users = _most([evidence.name(each.user_id) for each in seen])
        if users and not evidence.is_own:
            found.append(f"{most(users.share)} are {users.name}'s.")
        elif not evidence.is_own and seen:
            affected = sorted({evidence.name(each.user_id) for each in seen})
            found.append(f"{counted(len(affected), 'user')} had them: {names(affected)}.")
        return found


@dataclass(frozen=True)
class _Share:
    name: str
    share: float


def _most(values: Sequence[str]) -> _Share | None:
    """The value that most have. None: there is none."""
    name = max(set(values), key=values.count, default="")
    share = values.count(name) / len(values) if values else 0
    return _Share(name, share) if share >= _MOST else None


def _narrowed(seen: Sequence[Seen], span: Span) -> tuple[Span, bool]:
    """The hours that hold nearly all of the requests, if they are few."""
    hours = [each.accepted_at.replace(minute=0, second=0, microsecond=0) for each in seen]
    best = max(set(hours), key=hours.count, default=None)
    if best is None or hours.count(best) < _MOST * len(hours):
        return span, False
    return Span(best, best + timedelta(hours=1)), True


def find(history: History) -> Iterator[Suspicion]:
    """Find days on which a cause is far more frequent than on the days before."""
    for (status, code), counts in history.causes.items():
        expected = {day: num for day in history.days if (num := _expected(counts, day, history)) is not None}
        for first, last in runs(sorted(expected)):
            days = range(first, last + 1)
            num, usual_num = sum(counts[day] for day in days), sum(expected[day] for day in days)
            share = num / max(1, sum(history.whole[day].num_requests for day in days))
            size = min(100.0, num / max(1.0, usual_num))
            severity: Severity = "high" if status in ("failed", "refused") and share >= _HIGH_SHARE else "medium"
            lead = {"status": status, "code": code}
            span = history.span(first, last)
            yield CauseRise(
                "causes",
                severity,
                span,
                size,
                f"{status}:{code}",
                lead,
                first=first,
                last=last,
                status=status,
                code=code,
                num=num,
                expected=usual_num,
            )


def _expected(counts: Sequence[int], day: int, history: History) -> float | None:
    """The number that is usual among as many requests, where there are far more. None: there are not."""
    base = history.baseline(day)
    if base is None or counts[day] < _MIN_REQUESTS:
        return None
    requests = [history.whole[each].num_requests for each in base.days]
    if not sum(requests):
        return None
    num, part = sum(counts[each] for each in base.days), history.whole[day].num_requests / sum(requests)
    expected, most_expected = num * part, (num + _UNSEEN) * part
    is_high = counts[day] > max(_RATIO * most_expected, most_expected + _SIGMAS * sqrt(most_expected + 1))
    return expected if is_high else None
