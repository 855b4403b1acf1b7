"""The usage report of a period: figures, groups, speeds, causes and hours, each with the period before.

Knows nothing of HTTP and of the page.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Literal, TypeVar

from webapp.gateway.structs import Result
from webapp.requests.outcome import VERDICTS
from webapp.usage import sketch
from webapp.usage.cells import Cell, Filter, by_hour, cells, sketches, times
from webapp.usage.period import Period, Unit
from webapp.usage.sketch import METRICS

Key = TypeVar("Key")
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
    """Requests that the gateway did not accept."""
    num_held_back: int
    """Requests that the safety checks blocked, or whose answer they withheld."""
    num_flagged: int
    """Requests that the safety checks flagged and let through."""
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
    surfaces: list[Choice]
    users: list[Choice]
    """Users with requests in the period, by name."""
    user_groups: list[Choice]
    """Groups of these users, by name."""


class Names:
    """Names of users, and their groups."""

    def __init__(self, users: Mapping[int, str], groups: Mapping[int, Sequence[str]]) -> None:
        self.users = users
        self.groups = groups
        """A user without a group is absent."""

    def choices(self, users: Iterable[int]) -> list[Choice]:
        found = [Choice(str(user), self.label("user", str(user))) for user in set(users)]
        return sorted(found, key=lambda choice: (choice.label, choice.key))

    def each_group(self, users: Iterable[int]) -> set[str]:
        return {group for user in set(users) for group in self.groups.get(user, ())}

    def key_of(self, by: By) -> Callable[[Cell], str]:
        columns: dict[By, Callable[[Cell], str]] = {
            "model": lambda cell: cell.model,
            "surface": lambda cell: cell.surface,
            "status": lambda cell: cell.status,
            "user": lambda cell: str(cell.user_id),
            "group": lambda cell: ", ".join(self.groups.get(cell.user_id, ())),
        }
        return columns[by]

    def label(self, by: By, key: str) -> str:
        if by == "user":
            return self.users.get(int(key), key)
        return key or ("No group" if by == "group" else "Unknown")


def report(period: Period, chosen: Filter, by: By, names: Names) -> UsageReport:
    """Return the report. Raises BadPeriod where there is no period before."""
    earlier, starts = period.before(), period.starts()
    now, before = cells(period, chosen, starts), cells(earlier, chosen, earlier.starts())
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
        points_before=[figures(part) for part in _parts(before, len(earlier.starts()))],
        by=by,
        now=figures(now),
        before=figures(before),
        num_users=len({cell.user_id for cell in now}),
        num_users_before=len({cell.user_id for cell in before}),
        groups=_groups(now, before, by, names, len(starts)),
        leaders=_leaders(now, before, names),
        speed=_speed(period, earlier, chosen, starts),
        heat=_heat(Period(heat_first, period.last, period.zone), chosen),
        heat_first=heat_first,
        causes=_causes(now, before),
        verdicts=_verdicts(now, before),
        models=_choices(cell.model for cell in now),
        surfaces=_choices(cell.surface for cell in now),
        users=names.choices(cell.user_id for cell in now),
        user_groups=_choices(names.each_group(cell.user_id for cell in now)),
    )


def figures(found: Iterable[Cell]) -> UsageFigures:
    """Add up the cells."""
    kinds, cost, saved = Counter[str](), Counter[str](), Counter[str]()
    ends, num_flagged = Counter[str](), 0
    for cell in found:
        ends[cell.status] += cell.num_requests
        num_flagged += cell.num_requests if cell.verdict == "flag" else 0
        kinds["uncached_input"] += cell.uncached_input
        kinds["cache_read"] += cell.cache_read
        kinds["cache_write_5m"] += cell.cache_write_5m
        kinds["cache_write_1h"] += cell.cache_write_1h
        kinds["output"] += cell.output
        kinds["cache_unknown_input"] += cell.cache_unknown_input
        kinds["num_unpriced"] += cell.num_unpriced
        if cell.currency:
            cost[cell.currency] += cell.cost_nano
            saved[cell.currency] += cell.saved_nano
    return UsageFigures(
        num_requests=ends.total(),
        num_failed=sum(ends[status] for status in _FAILED),
        num_refused=sum(ends[status] for status in _REFUSED),
        num_held_back=sum(ends[status] for status in _HELD_BACK),
        num_flagged=num_flagged,
        uncached_input=kinds["uncached_input"],
        cache_read=kinds["cache_read"],
        cache_write_5m=kinds["cache_write_5m"],
        cache_write_1h=kinds["cache_write_1h"],
        output=kinds["output"],
        cache_unknown_input=kinds["cache_unknown_input"],
        num_unpriced=kinds["num_unpriced"],
        cost=_amounts(cost),
        saved=_amounts(saved),
    )


def _amounts(nano: Mapping[str, int]) -> list[Amount]:
    return [Amount(currency, amount) for currency, amount in sorted(nano.items())]


def _split(found: Iterable[Cell], key: Callable[[Cell], Key]) -> dict[Key, list[Cell]]:
    groups = defaultdict[Key, list[Cell]](list)
    for cell in found:
        groups[key(cell)].append(cell)
    return groups


def _size(found: Sequence[Cell]) -> tuple[int, int]:
    """Orders groups: by cost, then by tokens. Amounts of several currencies only give an order here."""
    tokens = sum(cell.uncached_input + cell.cache_read + cell.output + cell.num_requests for cell in found)
    return sum(cell.cost_nano for cell in found), tokens


def _groups(now: list[Cell], before: list[Cell], by: By, names: Names, num_parts: int) -> list[Group]:
    key = names.key_of(by)
    found, earlier = _split(now, key), _split(before, key)
    ordered = sorted(found, key=lambda each: _size(found[each]), reverse=True)
    num_shown = MAX_GROUPS if len(ordered) <= MAX_GROUPS else MAX_GROUPS - 1
    shown = ordered[:num_shown]
    groups = [_group(each, names.label(by, each), found[each], earlier.get(each, []), num_parts) for each in shown]
    if rest := ordered[num_shown:]:
        others = [cell for each in rest for cell in found[each]]
        others_before = [cell for each, some in earlier.items() if each not in shown for cell in some]
        groups.append(_group("", f"{len(rest)} others", others, others_before, num_parts))
    return groups


def _group(key: str, label: str, now: list[Cell], before: list[Cell], num_parts: int) -> Group:
    return Group(key, label, figures(now), figures(before), [figures(part) for part in _parts(now, num_parts)])


def _parts(found: list[Cell], num_parts: int) -> list[list[Cell]]:
    parts: list[list[Cell]] = [[] for _ in range(num_parts)]
    for cell in found:
        parts[cell.part].append(cell)
    return parts


def _leaders(now: list[Cell], before: list[Cell], names: Names) -> list[Leader]:
    def key(cell: Cell) -> int:
        return cell.user_id

    found, earlier = _split(now, key), _split(before, key)
    ordered = sorted(found, key=lambda each: _size(found[each]), reverse=True)[:MAX_LEADERS]
    return [
        Leader(each, names.label("user", str(each)), figures(found[each]), figures(earlier.get(each, [])))
        for each in ordered
    ]


def _causes(now: list[Cell], before: list[Cell]) -> list[Cause]:
    def count(found: Iterable[Cell]) -> Counter[tuple[str, str]]:
        counts = Counter[tuple[str, str]]()
        for cell in found:
            if cell.status in _FAILED | _REFUSED | _HELD_BACK:
                counts[cell.status, cell.error_code] += cell.num_requests
        return counts

    new, old = count(now), count(before)
    found = [Cause(status, code, new[status, code], old[status, code]) for status, code in new | old]
    return sorted(found, key=lambda cause: (-cause.num, cause.status, cause.code))


def _verdicts(now: list[Cell], before: list[Cell]) -> list[Verdict]:
    def count(found: Iterable[Cell], verdict: str) -> int:
        return sum(cell.num_requests for cell in found if cell.verdict == verdict)

    return [Verdict(verdict, count(now, verdict), count(before, verdict)) for verdict in VERDICTS]


def _choices(values: Iterable[str]) -> list[Choice]:
    return [Choice(value, value) for value in sorted(set(values) - {""})]


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
        for name in METRICS
    }
    return Speed(**timings, error=sketch.RELATIVE_ERROR)


def _sketches(period: Period, chosen: Filter) -> list[tuple[datetime, bytes]]:
    if not chosen.needs_records:
        return sketches(period, chosen)
    return [(at, sketch.sketch_of(dict(zip(METRICS, each, strict=True)))) for at, *each in times(period, chosen)]


def _percentiles(found: bytes, metric: str) -> Percentiles | None:
    values = sketch.percentiles(found, metric, _QUANTILES)
    return None if values is None else Percentiles(sketch.num_values(found, metric), *values)
