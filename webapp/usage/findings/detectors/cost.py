"""Days that cost far more than usual: all together, for one user, or with one model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from webapp.usage.findings.detectors.reasons import reasons
from webapp.usage.findings.finding import Evidence, Suspicion, Told
from webapp.usage.findings.history import History, Use, joined
from webapp.usage.findings.usual import Baseline, runs, usual
from webapp.usage.findings.words import counted, days_name, money, percent, times

_RATIO = 2.0
_HIGH_RATIO = 3.0
_SIGMAS = 4.0
_MIN_REQUESTS = 20
_MATERIAL = 0.25
"""A part's excess counts from this share of the whole usual day's cost on."""
_TELLING = 0.3
"""A part explains the excess of the whole from this share on."""


@dataclass(frozen=True)
class _Run:
    """Neighbouring days on which one series cost too much."""

    first: int
    last: int
    cost: float
    usual_cost: float
    base: Baseline
    """Of the first day."""

    @property
    def ratio(self) -> float:
        return self.cost / self.usual_cost if self.usual_cost else float("inf")


@dataclass(frozen=True)
class _Part:
    """The part of a run's excess that one user or one model made."""

    key: Any
    uses: Sequence[Use]
    excess: float


@dataclass(frozen=True, kw_only=True)
class CostSpike(Suspicion):
    """Days that cost too much."""

    run: _Run
    currency: str
    user_id: int | None
    model: str

    def tell(self, history: History, evidence: Evidence) -> Told:
        conditions: dict[str, Any] = {"user_id": self.user_id} if self.user_id is not None else {}
        conditions |= {"model": self.model} if self.model else {}
        why = []
        if self.user_id is not None:
            why = _reasons(history.users[self.user_id], self.run, history)
        else:
            parts = history.models if evidence.is_own or len(history.users) < 2 or self.model else history.users
            top = None if self.model else _top(parts, self.run, self.currency)
            if top is not None:
                why = self._made_by(top, parts is history.users, history, evidence)
                conditions |= {"user_id" if parts is history.users else "model": top.key}
            else:
                series = history.models[self.model] if self.model else history.whole
                why = _reasons(series, self.run, history)
        return Told(self._title(history, evidence), why, evidence.top(self.span, "cost", **conditions))

    def _title(self, history: History, evidence: Evidence) -> str:
        run, usually = self.run, _usually(self.run, history)
        days = days_name(history.date(run.first), history.date(run.last))
        subject = "Your cost" if evidence.is_own else "Cost"
        if self.user_id is not None:
            subject = f"{evidence.name(self.user_id)}'s cost"
        if self.model:
            subject += f" of {self.model}"
        if run.usual_cost == 0:
            return f"{subject} {days} was {money(run.cost, self.currency)}; {usually} has none."
        compared = f"{money(run.cost, self.currency)} against {money(run.usual_cost, self.currency)}"
        return f"{subject} {days} was {times(run.ratio)} {usually}: {compared}."

    def _made_by(self, top: _Part, is_user: bool, history: History, evidence: Evidence) -> list[str]:
        run = self.run
        now = joined(top.uses[run.first : run.last + 1])
        share = percent(now.cost.get(self.currency, 0) / run.cost)
        of = evidence.name(top.key) if is_user else top.key
        requests = counted(now.num_requests, "request")
        made = f"{of}'s {requests}" if is_user else f"{requests} to {of}"
        return [f"{made} made {share} of it.", *_reasons(top.uses, run, history)]


def find(history: History) -> Iterator[Suspicion]:
    """Find days of the period that cost too much. A part is not named where the whole already is."""
    for currency in history.currencies:
        whole = list(_runs(history.whole, history, currency))
        named = {day for run in whole for day in range(run.first, run.last + 1)}
        yield from (_spike(run, currency, history) for run in whole)
        for user_id, series in history.users.items() if len(history.users) > 1 else ():
            runs_of_user = [run for run in _runs(series, history, currency, is_part=True) if run.first not in named]
            for run in runs_of_user:
                yield _spike(run, currency, history, user_id=user_id)
                named |= set(range(run.first, run.last + 1))
        for model, series in history.models.items() if len(history.models) > 1 else ():
            for run in _runs(series, history, currency, is_part=True):
                if run.first not in named:
                    yield _spike(run, currency, history, model=model)


def _spike(run: _Run, currency: str, history: History, user_id: int | None = None, model: str = "") -> CostSpike:
    lead: dict[str, Any] = {"user_id": user_id, "model": model}
    return CostSpike(
        "cost",
        "high" if run.ratio >= _HIGH_RATIO and user_id is None and not model else "medium",
        history.span(run.first, run.last),
        min(run.ratio, 100.0),
        f"{currency}:{'' if user_id is None else user_id}:{model}",
        {name: value for name, value in lead.items() if value},
        run=run,
        currency=currency,
        user_id=user_id,
        model=model,
    )


def _runs(series: Sequence[Use], history: History, currency: str, is_part: bool = False) -> Iterator[_Run]:
    costs = [use.cost.get(currency, 0) for use in series]
    whole = [use.cost.get(currency, 0) for use in history.whole]
    found: dict[int, tuple[float, Baseline]] = {}
    for day in history.days:
        base = history.baseline(day)
        if base is None or series[day].num_requests < _MIN_REQUESTS:
            continue
        normal = usual([costs[each] for each in base.days])
        material = _MATERIAL * median(whole[each] for each in base.days) if is_part else 0
        if normal.is_above(costs[day], _RATIO, _SIGMAS) and costs[day] - normal.middle > material:
            found[day] = (normal.middle, base)
    for first, last in runs(sorted(found)):
        days = range(first, last + 1)
        yield _Run(first, last, sum(costs[day] for day in days), sum(found[day][0] for day in days), found[first][1])


def _usually(run: _Run, history: History) -> str:
    if run.first != run.last:
        return "the usual of such days"
    return f"a usual {history.date(run.first):%A}" if run.base.is_weekday else "a usual day"


def _top(parts: Mapping[Any, Sequence[Use]], run: _Run, currency: str) -> _Part | None:
    """The part with the largest excess over its own usual. None: no part explains much."""
    days, excess = range(run.first, run.last + 1), run.cost - run.usual_cost
    found = []
    for key, uses in parts.items():
        cost = sum(uses[day].cost.get(currency, 0) for day in days)
        normal = median(uses[day].cost.get(currency, 0) for day in run.base.days) * len(days)
        found.append(_Part(key, uses, cost - normal))
    top = max(found, key=lambda part: part.excess, default=None)
    return top if top is not None and top.excess >= _TELLING * excess else None


def _reasons(series: Sequence[Use], run: _Run, history: History) -> list[str]:
    num_days = run.last - run.first + 1
    num_usual = median(series[day].num_requests for day in run.base.days) * num_days
    name = _usually(run, history)
    earlier = joined(series[day] for day in run.base.days)
    return reasons(joined(series[run.first : run.last + 1]), earlier, num_usual, name[0].upper() + name[1:])
