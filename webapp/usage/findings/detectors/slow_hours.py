"""Hours in which requests waited far longer than usual for their first token, and the part that made them wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from webapp.usage.findings.finding import Evidence, Seen, Suspicion, Told
from webapp.usage.findings.history import History, Hour, Span
from webapp.usage.findings.usual import usual
from webapp.usage.findings.words import cause, counted, hours_name, names, percent, seconds, times

_RATIO = 2.0
_SIGMAS = 5.0
_MIN_MORE_US = 250_000.0
"""A person notices such a delay."""
_MIN_REQUESTS = 5
_DAYS_BEFORE = timedelta(days=14)
_MIN_HOURS = 12
"""Fewer earlier hours tell nothing of what is usual."""
_HIGH_RATIO = 4.0
_MOST = 0.6
"""A part made the hour slow if it has this share of the additional time."""


@dataclass(frozen=True, kw_only=True)
class SlowHours(Suspicion):
    """Neighbouring slow hours."""

    first_token: float
    queue: float
    usual_first_token: float
    usual_queue: float

    def tell(self, history: History, evidence: Evidence) -> Told:
        when = hours_name(self.span.start, self.span.end, history.zone)
        whose = "your" if evidence.is_own else "the"
        title = (
            f"It was slow {when}: {whose} median request waited {seconds(self.first_token)} for its first token, "
            f"{times(self.first_token / self.usual_first_token)} the usual {seconds(self.usual_first_token)}."
        )
        seen = evidence.seen(self.span)
        why = [self._part(), *self._failures(seen)]
        if not evidence.is_own:
            why += self._workers(seen, evidence)
        return Told(title, why, evidence.top(self.span, "first_token"))

    def _part(self) -> str:
        more, in_queue = self.first_token - self.usual_first_token, max(0.0, self.queue - self.usual_queue)
        share = min(1.0, in_queue / more)
        if share >= _MOST:
            queued = f"{seconds(self.queue)} against {seconds(self.usual_queue)}"
            return f"The queue made it slow: {percent(share)} of the additional time was spent waiting ({queued})."
        if share <= 1 - _MOST:
            reading = f"{seconds(self.first_token - self.queue)}"
            usual_reading = seconds(max(0.0, self.usual_first_token - self.usual_queue))
            return f"The computing made it slow, not the queue: {reading} after the queue, against {usual_reading}."
        return f"Queue and computing both made it slow: {percent(share)} of the additional time was in the queue."

    def _failures(self, seen: Sequence[Seen]) -> list[str]:
        failed = [each.error_code for each in seen if each.status == "failed"]
        if not failed:
            return []
        of = f"{counted(len(failed), 'request')} of {len(seen):,} failed"
        return [f"{of}: {names(sorted({cause(code) for code in failed}))}."]

    def _workers(self, seen: Sequence[Seen], evidence: Evidence) -> list[str]:
        """Name the workers that took no request, though they worked in the hours before."""
        length = timedelta(hours=3)
        before = evidence.seen(Span(self.span.start - length, self.span.start))
        working, earlier = ({each.worker for each in some} - {""} for some in (seen, before))
        gone = sorted(earlier - working)
        if not gone or not working:
            return []
        return (
            [f"{names(gone)} took no request, though it worked in the hours before."]
            if len(gone) == 1
            else [f"{names(gone)} took no request, though they worked in the hours before."]
        )


def find(history: History) -> Iterator[Suspicion]:
    """Find slow hours of the period, neighbouring ones together."""
    begin = history.starts[history.num_before]
    run: list[Hour] = []
    for place, hour in enumerate(history.hours):
        is_next = bool(run) and hour.start - run[-1].start == timedelta(hours=1)
        is_slow = hour.start >= begin and _is_slow(hour, _earlier(history.hours, place))
        if run and not (is_next and is_slow):
            yield _joined(run, history)
            run = []
        if is_slow:
            run.append(hour)
    if run:
        yield _joined(run, history)


def _earlier(hours: Sequence[Hour], place: int) -> list[Hour]:
    begin = hours[place].start - _DAYS_BEFORE
    return [hour for hour in hours[:place] if hour.start >= begin]


def _is_slow(hour: Hour, earlier: Sequence[Hour]) -> bool:
    if hour.num_requests < _MIN_REQUESTS or hour.first_token < _MIN_MORE_US or len(earlier) < _MIN_HOURS:
        return False
    normal = usual([each.first_token for each in earlier])
    # Few requests have a chance median; three in four of them are slow together only for a reason.
    is_common = hour.first_token_low > normal.middle * _RATIO
    is_noticed = hour.first_token > normal.middle + _MIN_MORE_US
    return is_common and is_noticed and normal.is_above(hour.first_token, _RATIO, _SIGMAS)


def _joined(run: Sequence[Hour], history: History) -> SlowHours:
    place = next(place for place, hour in enumerate(history.hours) if hour.start == run[0].start)
    earlier = _earlier(history.hours, place)
    num = sum(hour.num_requests for hour in run)
    first_token = sum(hour.first_token * hour.num_requests for hour in run) / num
    usual_first_token = median(hour.first_token for hour in earlier)
    ratio = first_token / max(1.0, usual_first_token)
    return SlowHours(
        "slow_hours",
        "high" if ratio >= _HIGH_RATIO else "medium",
        Span(run[0].start, run[-1].start + timedelta(hours=1)),
        min(ratio, 100.0),
        "",
        first_token=first_token,
        queue=sum(hour.queue * hour.num_requests for hour in run) / num,
        usual_first_token=usual_first_token,
        usual_queue=median(hour.queue for hour in earlier),
    )
