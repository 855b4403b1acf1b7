"""The usage report of a period: figures, groups, speeds, causes and hours, each with the period before.

Knows nothing of HTTP and of the page.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Literal

from webapp.ground.gateway.structs import Result
from webapp.requests.outcome import VERDICTS
from webapp.usage import sketch
from webapp.usage.period import Period, Unit
from webapp.usage.sketch import TIMES
from webapp.usage.sums import Buckets, Filter, Row, Totals, by_hour, sketches, sums, times

By = Literal["model", "user", "group", "surface", "status"]
MAX_GROUPS = 7
"""Groups of the chart, the one of all others included: more colours are not told apart."""
MAX_LEADERS = 12
_MAX_HEAT_DAYS = 35
_QUANTILES = (0.5, 0.95, 0.99)
_FAILED = {"failed"}
_REFUSED = {"refused"}
_HELD_BACK = {"blocked", "withheld"}


class Amount(Result):
    """Money of one currency."""

    currency: str
    nano: int
    """Billionths of the currency's unit."""


class UsageFigures(Result):
    """Sums of some requests."""

    num_requests: int
    num_failed: int
    num_refused: int
    """Requests that the gateway did not accept, or whose prompt was too long for the model."""
    num_held_back: int
    """Requests that the safety checks blocked, or whose answer they withheld."""
    uncached_input: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int
    cache_unknown_input: int
    """Part of uncached_input for which the use of a cache is unknown."""
    num_unpriced: int
    """Requests that used tokens without a price. Their cost is unknown."""
    cost: list[Amount]
    saved: list[Amount]
    """Cost of the same tokens without a cache, minus the cost."""


class Percentiles(Result):
    """Times of some requests in µs: the median and the slowest twentieth and hundredth."""

    num: int
    """Requests whose time is known."""
    p50: float
    p95: float
    p99: float


class Timing(Result):
    """One of the times of a request."""

    now: Percentiles | None
    before: Percentiles | None
    """The period before."""
    points: list[Percentiles | None]
    """One per part of the chart."""


class Speed(Result):
    """How long requests took."""

    queue_us: Timing
    first_token_us: Timing
    first_text_us: Timing
    per_token_us: Timing
    error: float
    """Relative error of the percentiles; 0: exact."""


class Group(Result):
    """Requests that agree in the column by which the chart is stacked."""

    key: str
    """Value of the column; empty for the group of all others."""
    label: str
    now: UsageFigures
    before: UsageFigures
    points: list[UsageFigures]
    """One per part of the chart."""


class Leader(Result):
    """A user's requests."""

    user_id: int
    name: str
    now: UsageFigures
    before: UsageFigures


class Cause(Result):
    """Requests that ended without an answer for the same reason."""

    status: str
    code: str
    num: int
    num_before: int


class Verdict(Result):
    """Requests whose safety checks had the same worst verdict."""

    verdict: str
    num: int
    num_before: int


class Choice(Result):
    """A value by which the report can be filtered."""

    key: str
    label: str


class UsageReport(Result):
    """Usage of a period, compared with the period before."""

    first: date
    last: date
    """The last day, included."""
    zone: str
    unit: Unit
    counted_in: str
    """Time zone whose midnights begin the days; UTC for a period of more than 35 days."""
    before_first: date
    before_last: date
    starts: list[datetime]
    """The instant at which each part of the chart begins."""
    points_before: list[UsageFigures]
    """One per part of the period before, which can have a part more or fewer."""
    by: By
    now: UsageFigures
    before: UsageFigures
    num_users: int
    num_users_before: int
    groups: list[Group]
    """Groups of the chart, the largest first and all others last."""
    leaders: list[Leader]
    """Users with the highest cost."""
    speed: Speed
    heat: list[list[int]]
    """Requests by weekday, Monday first, and hour of the day in `zone`."""
    heat_first: date
    """First day of the heat map, which covers at most the period's last 35 days."""
    causes: list[Cause]
    verdicts: list[Verdict]
    models: list[Choice]
    """Models of the period, also those that the filter leaves out."""
    surfaces: list[Choice]
    users: list[Choice]
    """Users with requests in the period, by name."""
    user_groups: list[Choice]
    """Groups of these users, by name."""


@dataclass(frozen=True)
class Names:
    """Names of users, and their groups."""

    users: Mapping[int, str]
    groups: Mapping[int, Sequence[str]]
    """A user without a group is absent."""

    def groups_of(self, user_id: int) -> str:
        return ", ".join(self.groups.get(user_id, ()))

    def choices(self, users: Iterable[int]) -> list[Choice]:
        found = [Choice(str(user), self.users.get(user, str(user))) for user in users]
        return sorted(found, key=lambda choice: (choice.label, choice.key))

    def each_group(self, users: Iterable[int]) -> list[Choice]:
        found = {group for user in users for group in self.groups.get(user, ())}
        return [Choice(group, group) for group in sorted(found)]


@dataclass(frozen=True)
class _Stack:
    """How the chart is stacked: the column of the sums, and the group of each of its values."""

    column: str
    key_of: Callable[[Any], str]
    label_of: Callable[[str], str]


@dataclass(frozen=True)
class _Part:
    """Sums of requests with the same status and currency."""

    status: str
    currency: str
    totals: Totals


class _Reading:
    """The sums of one period by the values of a column, each read once."""

    def __init__(self, period: Period, chosen: Filter) -> None:
        self.period = period
        self.chosen = chosen
        self._read: dict[str, dict[Any, list[_Part]]] = {}

    def by(self, column: str) -> dict[Any, list[_Part]]:
        if column not in self._read:
            self._read[column] = self._by(column)
        return self._read[column]

    def _by(self, column: str) -> dict[Any, list[_Part]]:
        found = defaultdict[Any, list[_Part]](list)
        keys = [column, *(each for each in _ENDING[:2] if each != column)]
        for row in sums(self.period, self.chosen, keys):
            named = dict(zip(keys, row.keys, strict=True))
            found[named[column]].append(_Part(named["status"], named["currency"], row.totals))
        return found


def report(period: Period, chosen: Filter, by: By, names: Names) -> UsageReport:
    """Return the report. Raises BadPeriod where there is no period before."""
    earlier, starts = period.before(), period.starts()
    now, before = sums(period, chosen, _ENDING), sums(earlier, chosen, _ENDING)
    reading, reading_before = _Reading(period, chosen), _Reading(earlier, chosen)
    users, users_before = reading.by("user_id"), reading_before.by("user_id")
    heat_first = max(period.first, period.last - timedelta(days=_MAX_HEAT_DAYS - 1))
    return UsageReport(
        first=period.first,
        last=period.last,
        zone=period.zone.key,
        unit=period.unit,
        counted_in=period.counted_in.key,
        before_first=earlier.first,
        before_last=earlier.last,
        starts=starts,
        points_before=_points(reading_before, Buckets("status", []), earlier.starts())[0],
        by=by,
        now=_figures(_part(row) for row in now),
        before=_figures(_part(row) for row in before),
        num_users=len(users),
        num_users_before=len(users_before),
        groups=_groups(reading, reading_before, _stack(by, names), starts),
        leaders=_leaders(users, users_before, names),
        speed=_speed(period, earlier, chosen, starts),
        heat=_heat(Period(heat_first, period.last, period.zone), chosen),
        heat_first=heat_first,
        causes=_causes(now, before),
        verdicts=_verdicts(now, before),
        models=_choices(reading, "model"),
        surfaces=_choices(reading, "surface"),
        users=names.choices(users),
        user_groups=names.each_group(users),
    )


def figures_by_user(period: Period, chosen: Filter) -> dict[int, UsageFigures]:
    """Return the figures of each user with requests in the period."""
    return {user: _figures(parts) for user, parts in _Reading(period, chosen).by("user_id").items()}


def figures_by_model(period: Period, chosen: Filter) -> dict[str, UsageFigures]:
    """Return the figures of each model with requests in the period."""
    return {str(model): _figures(parts) for model, parts in _Reading(period, chosen).by("model").items()}


def joined(figures: Iterable[UsageFigures]) -> UsageFigures:
    """Return the sum of some users' figures."""
    whole, costs, saved = Counter[str](), Counter[str](), Counter[str]()
    for each in figures:
        whole.update({name: getattr(each, name) for name in _COUNTS})
        costs.update({amount.currency: amount.nano for amount in each.cost})
        saved.update({amount.currency: amount.nano for amount in each.saved})
    return UsageFigures(**{name: whole[name] for name in _COUNTS}, cost=_amounts(costs), saved=_amounts(saved))


_COUNTS = tuple(name for name in UsageFigures.__struct_fields__ if name not in ("cost", "saved"))
_ENDING = ("status", "currency", "error_code", "verdict")


def _part(row: Row, first: int = 0) -> _Part:
    """The row's sums; its keys hold status and currency from `first` on."""
    return _Part(row.keys[first], row.keys[first + 1], row.totals)


def _figures(parts: Iterable[_Part]) -> UsageFigures:
    kinds, cost, saved, ends = [0] * len(Totals._fields), Counter[str](), Counter[str](), Counter[str]()
    for part in parts:
        kinds = [before + more for before, more in zip(kinds, part.totals, strict=True)]
        ends[part.status] += part.totals.num_requests
        if part.currency:
            cost[part.currency] += part.totals.cost_nano
            saved[part.currency] += part.totals.saved_nano
    whole = Totals(*kinds)
    return UsageFigures(
        num_requests=whole.num_requests,
        num_failed=sum(ends[status] for status in _FAILED),
        num_refused=sum(ends[status] for status in _REFUSED),
        num_held_back=sum(ends[status] for status in _HELD_BACK),
        uncached_input=whole.uncached_input,
        cache_read=whole.cache_read,
        cache_write_5m=whole.cache_write_5m,
        cache_write_1h=whole.cache_write_1h,
        output=whole.output,
        cache_unknown_input=whole.cache_unknown_input,
        num_unpriced=whole.num_unpriced,
        cost=_amounts(cost),
        saved=_amounts(saved),
    )


def _amounts(nano: Mapping[str, int]) -> list[Amount]:
    return [Amount(currency, amount) for currency, amount in sorted(nano.items())]


def _size(parts: Iterable[_Part]) -> tuple[int, int, int]:
    """Orders groups: by cost, then by tokens, then by requests. Amounts of several currencies only give an order."""
    totals = [part.totals for part in parts]
    tokens = sum(each.num_input + each.output for each in totals)
    return sum(each.cost_nano for each in totals), tokens, sum(each.num_requests for each in totals)


def _stack(by: By, names: Names) -> _Stack:
    if by == "user":
        return _Stack("user_id", str, lambda key: names.users.get(int(key), key))
    if by == "group":
        return _Stack("user_id", names.groups_of, lambda key: key or "No group")
    return _Stack(by, str, lambda key: key or "Unknown")


def _groups(reading: _Reading, earlier: _Reading, stack: _Stack, starts: Sequence[datetime]) -> list[Group]:
    now, values = _by_key(reading, stack)
    before, _ = _by_key(earlier, stack)
    ordered = sorted(now, key=lambda key: (_size(now[key]), key), reverse=True)
    num_shown = MAX_GROUPS if len(ordered) <= MAX_GROUPS else MAX_GROUPS - 1
    shown, rest = ordered[:num_shown], ordered[num_shown:]
    points = _points(reading, Buckets(stack.column, [values[key] for key in shown]), starts)
    groups = [
        Group(key, stack.label_of(key), _figures(now[key]), _figures(before.get(key, [])), points[number])
        for number, key in enumerate(shown)
    ]
    if rest:
        others = _figures(part for key in rest for part in now[key])
        others_before = _figures(part for key in before.keys() - {*shown} for part in before[key])
        groups.append(Group("", f"{len(rest)} others", others, others_before, points[len(shown)]))
    return groups


def _by_key(reading: _Reading, stack: _Stack) -> tuple[dict[str, list[_Part]], dict[str, list[Any]]]:
    """The sums of each group, and the values of the column that belong to it."""
    parts, values = defaultdict[str, list[_Part]](list), defaultdict[str, list[Any]](list)
    for value, found in reading.by(stack.column).items():
        parts[stack.key_of(value)] += found
        values[stack.key_of(value)].append(value)
    return parts, values


def _points(reading: _Reading, buckets: Buckets, starts: Sequence[datetime]) -> list[list[UsageFigures]]:
    """The figures of each part of the chart, for each bucket and for all other requests."""
    found = defaultdict[tuple[int, int], list[_Part]](list)
    for row in sums(reading.period, reading.chosen, _ENDING[:2], starts, buckets):
        found[row.keys[0], row.part].append(_part(row, 1))
    numbers = range(len(buckets.values) + 1)
    return [[_figures(found.get((number, part), ())) for part in range(len(starts))] for number in numbers]


def _leaders(now: Mapping[int, list[_Part]], before: Mapping[int, list[_Part]], names: Names) -> list[Leader]:
    ordered = sorted(now, key=lambda user: (_size(now[user]), -user), reverse=True)[:MAX_LEADERS]
    return [
        Leader(user, names.users.get(user, str(user)), _figures(now[user]), _figures(before.get(user, [])))
        for user in ordered
    ]


def _causes(now: list[Row], before: list[Row]) -> list[Cause]:
    def count(found: Iterable[Row]) -> Counter[tuple[str, str]]:
        counts = Counter[tuple[str, str]]()
        for row in found:
            status, _, code, _ = row.keys
            if status in _FAILED | _REFUSED | _HELD_BACK:
                counts[status, code] += row.totals.num_requests
        return counts

    new, old = count(now), count(before)
    found = [Cause(status, code, new[status, code], old[status, code]) for status, code in new | old]
    return sorted(found, key=lambda cause: (-cause.num, cause.status, cause.code))


def _verdicts(now: list[Row], before: list[Row]) -> list[Verdict]:
    def count(found: Iterable[Row], verdict: str) -> int:
        return sum(row.totals.num_requests for row in found if row.keys[3] == verdict)

    return [Verdict(verdict, count(now, verdict), count(before, verdict)) for verdict in VERDICTS]


def _choices(reading: _Reading, column: Literal["model", "surface"]) -> list[Choice]:
    """The column's values, also those that its own filter leaves out."""
    chosen = reading.chosen
    without = replace(chosen, model="") if column == "model" else replace(chosen, surface="")
    whole = reading if without == chosen else _Reading(reading.period, without)
    return [Choice(value, value) for value in sorted({str(key) for key in whole.by(column)} - {""})]


def _heat(period: Period, chosen: Filter) -> list[list[int]]:
    heat = [[0] * 24 for _ in range(7)]
    for start, num in by_hour(period, chosen):
        local = start.astimezone(period.zone)
        heat[local.weekday()][local.hour] += num
    return heat


def _speed(period: Period, earlier: Period, chosen: Filter, starts: Sequence[datetime]) -> Speed:
    now, before = _sketches(period, chosen), _sketches(earlier, chosen)
    parts: list[list[bytes]] = [[] for _ in starts]
    for start, each in now:
        parts[bisect_right(starts, start) - 1].append(each)
    merged = [sketch.merge(part) for part in parts]
    whole, whole_before = sketch.merge(merged), sketch.merge(each for _, each in before)
    timings = {
        name: Timing(
            _percentiles(whole, name), _percentiles(whole_before, name), [_percentiles(part, name) for part in merged]
        )
        for name in TIMES
    }
    return Speed(**timings, error=sketch.RELATIVE_ERROR)


def _sketches(period: Period, chosen: Filter) -> list[tuple[datetime, bytes]]:
    found = sketches(period, chosen)
    if found is not None:
        return found
    return [(at, sketch.sketch_of(dict(zip(TIMES, each, strict=True)))) for at, *each in times(period, chosen)]


def _percentiles(found: bytes, metric: str) -> Percentiles | None:
    values = sketch.percentiles(found, metric, _QUANTILES)
    return None if values is None else Percentiles(sketch.num_values(found, metric), *values)
