"""A worker that writes far slower than the other workers of the same day, or, alone, than on the days before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from webapp.usage.findings.finding import Evidence, Suspicion, Told
from webapp.usage.findings.history import History, WorkerDay
from webapp.usage.findings.usual import usual
from webapp.usage.findings.words import counted, days_name, seconds, times

_RATIO = 1.5
_SIGMAS = 5.0
_MIN_REQUESTS = 20
_MIN_DAYS = 4
_BORNE_OUT = 1.25
"""Three in four requests are slower than the others' median by this ratio."""


@dataclass(frozen=True, kw_only=True)
class SlowWorker(Suspicion):
    """One worker's slow day."""

    day: int
    worker: str
    model: str
    num_requests: int
    before: int | None
    """The day of its own with which it is compared. None: with the other workers."""

    def tell(self, history: History, evidence: Evidence) -> Told | None:
        if evidence.is_own:
            return None
        seen = evidence.seen(self.span, model=self.model)
        own = [each.per_token_us for each in seen if each.worker == self.worker and each.per_token_us]
        if self.before is None:
            compared = [each.per_token_us for each in seen if each.worker != self.worker and each.per_token_us]
        else:
            earlier = evidence.seen(history.span(self.before, self.before), model=self.model, worker=self.worker)
            compared = [each.per_token_us for each in earlier if each.per_token_us]
        if len(own) < 2 or not compared:
            return None
        if median(own) < _RATIO * median(compared) or quantiles(own, n=4)[0] < _BORNE_OUT * median(compared):
            return None
        day = days_name(history.date(self.day), history.date(self.day))
        against = "the other workers'" if self.before is None else "its own of the days before,"
        title = (
            f"{self.worker} was slow {day}: its median time per output token with {self.model} was "
            f"{seconds(median(own))}, {times(median(own) / median(compared))} {against} {seconds(median(compared))}."
        )
        why = [f"{counted(self.num_requests, 'request')} ran on it."]
        return Told(title, why, evidence.top(self.span, "per_token", worker=self.worker, model=self.model))


def find(history: History) -> Iterator[Suspicion]:
    """Find slow days of workers."""
    busy = [each for each in history.workers if each.num_requests >= _MIN_REQUESTS]
    for each in busy:
        if each.day not in history.days:
            continue
        others = [other for other in busy if (other.day, other.model) == (each.day, each.model) and other is not each]
        earlier = [other for other in busy if (other.worker, other.model) == (each.worker, each.model)]
        earlier = [other for other in earlier if other.day < each.day]
        if others:
            middle = sum(other.per_token * other.num_requests for other in others)
            middle /= sum(other.num_requests for other in others)
            if each.per_token > _RATIO * middle:
                yield _slow(each, each.per_token / middle, None, history)
        elif _is_above(each, earlier):
            normal = median(other.per_token for other in earlier)
            nearest = min(earlier, key=lambda other: (abs(other.per_token - normal), -other.day))
            yield _slow(each, each.per_token / normal, nearest.day, history)


def _is_above(each: WorkerDay, earlier: Sequence[WorkerDay]) -> bool:
    if len(earlier) < _MIN_DAYS:
        return False
    return usual([other.per_token for other in earlier]).is_above(each.per_token, _RATIO, _SIGMAS)


def _slow(each: WorkerDay, ratio: float, before: int | None, history: History) -> SlowWorker:
    return SlowWorker(
        "slow_worker",
        "medium",
        history.span(each.day, each.day),
        min(ratio, 100.0),
        f"{each.worker}:{each.model}",
        {"model": each.model},
        day=each.day,
        worker=each.worker,
        model=each.model,
        num_requests=each.num_requests,
        before=before,
    )
