"""Users whose requests read more and more input, as conversations that grow without end do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from webapp.usage.findings.finding import Evidence, Suspicion, Told
from webapp.usage.findings.history import History, Use, joined
from webapp.usage.findings.usual import rises, usual
from webapp.usage.findings.words import counted, days_name, names, percent, times

_RECENT_DAYS = 7
_EARLIER_DAYS = 21
"""The earlier days end as long before the recent ones end."""
_MIN_DAYS = 4
_MIN_REQUESTS = 5
_RATIO = 1.3
_RISES = 0.3


@dataclass(frozen=True)
class _Growth:
    """Input per request of one user."""

    now: float
    before: float


@dataclass(frozen=True, kw_only=True)
class GrowingInput(Suspicion):
    """Users whose input per request grew."""

    users: tuple[int, ...]
    growth: _Growth
    """Of the user with the largest one."""

    @property
    def key(self) -> str:
        return self.weekly_key

    def tell(self, history: History, evidence: Evidence) -> Told:
        last = history.days[-1]
        days = days_name(history.date(last - _RECENT_DAYS + 1), history.date(last))
        found = [evidence.name(user) for user in self.users]
        whose = "Your requests" if evidence.is_own else f"Requests of {names(found)}"
        many = f"up to {times(self.growth.now / self.growth.before)}" if len(found) > 1 else ""
        ratio = many or times(self.growth.now / self.growth.before)
        title = f"{whose} read ever more input: {ratio} as much {days} as three weeks before."
        longest = evidence.name(self.users[0])
        each = f"read {counted(self.growth.now, 'token')} each, against {counted(self.growth.before, 'token')}"
        uses = joined(history.users[self.users[0]][last - _RECENT_DAYS + 1 : last + 1])
        why = [f"{'They' if evidence.is_own else f'Those of {longest}'} {each}."]
        if uses.known_input:
            why.append(f"{percent(uses.cached_share)} of it came from the cache.")
        conditions = {} if evidence.is_own else {"user_id__in": self.users}
        return Told(title, why, evidence.top(self.span, "input", **conditions))


def find(history: History) -> Iterator[Suspicion]:
    """Find users with growing inputs; one suspicion names them all."""
    if len(history.days) < _RECENT_DAYS:
        return
    growths = {user: found for user, series in history.users.items() if (found := _growth(series, history))}
    if not growths:
        return
    users = tuple(sorted(growths, key=lambda user: growths[user].before / growths[user].now))
    growth, last = growths[users[0]], history.days[-1]
    lead: Mapping[str, int] = {"user_id": users[0]} if len(users) == 1 else {}
    span = history.span(last - _RECENT_DAYS + 1, last)
    ratio = growth.now / growth.before
    # The key names no users: they change from day to day.
    yield GrowingInput("growth", "low", span, min(ratio, 100.0), "", lead, users=users, growth=growth)


def _growth(series: Sequence[Use], history: History) -> _Growth | None:
    """None: the input does not grow, or too little is known."""
    end = history.days[-1] + 1
    known = [use.input / use.num_requests if use.num_requests >= _MIN_REQUESTS else None for use in series[:end]]
    recent = [each for each in known[-_RECENT_DAYS:] if each is not None]
    start = max(0, end - _EARLIER_DAYS - _RECENT_DAYS)
    earlier = [each for each in known[start : end - _EARLIER_DAYS] if each is not None]
    between = [each for each in known[start:] if each is not None]
    if min(len(recent), len(earlier)) < _MIN_DAYS:
        return None
    normal, now = usual(earlier), median(recent)
    is_more = normal.is_above(now, _RATIO, 1.0) and rises(between) >= _RISES
    return _Growth(now, normal.middle) if is_more and normal.middle else None
