"""A user with far more cost than the other users of a period."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from webapp.usage.findings.detectors.reasons import reasons
from webapp.usage.findings.finding import Evidence, Suspicion, Told
from webapp.usage.findings.history import History, Use, joined
from webapp.usage.findings.words import counted, days_name, money, percent, times

_MIN_USERS = 4
_RATIO = 3.0
_SHARE = 0.25
_MIN_REQUESTS = 50
_ONE_DAY = 0.4
"""A day is named from this share of the user's cost on."""


@dataclass(frozen=True, kw_only=True)
class Spender(Suspicion):
    """The user who spent most, by far."""

    user_id: int
    currency: str
    share: float
    ratio: float

    @property
    def key(self) -> str:
        return self.weekly_key

    def tell(self, history: History, evidence: Evidence) -> Told:
        name, series = evidence.name(self.user_id), history.users[self.user_id]
        now = _of_period(series, history)
        cost = now.cost[self.currency]
        days = days_name(history.date(history.days[0]), history.date(history.days[-1]))
        requests = counted(now.num_requests, "request")
        title = (
            f"{name} spent most {days}: {money(cost, self.currency)} for {requests}, {percent(self.share)} of the cost."
        )
        why = [f"That is {times(self.ratio)} the cost of the user in the middle."]
        top = max(history.days, key=lambda day: series[day].cost.get(self.currency, 0))
        on_top = series[top].cost.get(self.currency, 0)
        if len(history.days) > 1 and on_top >= _ONE_DAY * cost:
            day = days_name(history.date(top), history.date(top))
            why.append(
                f"{percent(on_top / cost)} of it fell {day}, for {counted(series[top].num_requests, 'request')}."
            )
        others = joined(_of_period(each, history) for user, each in history.users.items() if user != self.user_id)
        num_middle = median(_of_period(each, history).num_requests for each in history.users.values())
        why += [
            sentence.replace("on usual days", "for the other users").replace("as usual", "as the others'")
            for sentence in reasons(now, others, num_middle, "The user in the middle")
        ]
        return Told(title, why, evidence.top(self.span, "cost", user_id=self.user_id))


def find(history: History) -> Iterator[Suspicion]:
    """Find the user who spent by far the most, for each currency."""
    uses = {user: _of_period(series, history) for user, series in history.users.items()}
    for currency in history.currencies:
        costs = {user: use.cost.get(currency, 0) for user, use in uses.items() if use.num_requests}
        if len(costs) < _MIN_USERS or history.baseline(history.days[-1]) is None:
            continue
        top = max(costs, key=lambda user: (costs[user], -user))
        middle, whole = median(costs.values()), sum(costs.values())
        if costs[top] < max(_RATIO * middle, _SHARE * whole, 1) or uses[top].num_requests < _MIN_REQUESTS:
            continue
        ratio = costs[top] / middle if middle else float("inf")
        span = history.span(history.days[0], history.days[-1])
        lead = {"user_id": top}
        share = costs[top] / whole
        yield Spender(
            "spender",
            "low",
            span,
            min(ratio, 100.0),
            f"{currency}:{top}",
            lead,
            user_id=top,
            currency=currency,
            share=share,
            ratio=ratio,
        )


def _of_period(series: Sequence[Use], history: History) -> Use:
    return joined(series[day] for day in history.days)
