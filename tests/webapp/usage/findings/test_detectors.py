"""The detectors on made-up histories: constant traffic is quiet, scale does not matter, and nothing makes them fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from webapp.usage.findings.detectors import cache, causes, cost, growth, slow_hours, spender, workers
from webapp.usage.findings.find import found_in, suspicions
from webapp.usage.findings.finding import Finding, Seen
from webapp.usage.findings.history import History, Hour, Use, WorkerDay
from webapp.usage.findings.usual import baseline, runs, usual
from webapp.usage.findings.words import money, names, seconds

FIRST = datetime(2026, 10, 5, tzinfo=UTC)  # a Monday
NUM_BEFORE, NUM_DAYS = 35, 42
STARTS = tuple(FIRST + timedelta(days=day) for day in range(NUM_DAYS))
LAST = NUM_DAYS - 1


class NoRecords:
    """Evidence without a request."""

    is_own = False

    def name(self, user_id: int) -> str:
        return f"user {user_id}"

    def top(self, *_: Any, **__: Any) -> list[Any]:
        return []

    def seen(self, *_: Any, **__: Any) -> list[Seen]:
        return []


def history(users: Mapping[int, Sequence[Use]] = {}, **more: Any) -> History:
    models = more.pop("models", None) or (
        {"large": [_sum(uses) for uses in zip(*users.values(), strict=True)]} if users else {}
    )
    return History(
        ZoneInfo("UTC"), STARTS, FIRST + timedelta(days=NUM_DAYS), NUM_BEFORE, users=users, models=models, **more
    )


def _sum(uses: Sequence[Use]) -> Use:
    from webapp.usage.findings.history import joined

    return joined(uses)


def use(num: int = 100, nano: int = 1_000_000, cached: float = 0.6, read: int = 200) -> Use:
    whole = num * read
    return Use(num, {"USD": num * nano}, whole, round(whole * cached), whole, num * 50)


def told(given_history: History) -> list[Finding]:
    found = found_in(given_history, NoRecords())
    return [msgspec.structs.replace(each, title=plain(each.title), why=plain(each.why)) for each in found]


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


uses = st.builds(use, st.integers(0, 500), st.integers(0, 10**7), st.floats(0, 1), st.integers(1, 5000))
days = st.lists(uses, min_size=NUM_DAYS, max_size=NUM_DAYS)
hours = st.lists(
    st.builds(
        Hour,
        st.integers(0, 24 * NUM_DAYS - 1).map(lambda hour: FIRST + timedelta(hours=hour)),
        st.integers(1, 300),
        st.floats(1, 10**7),
        st.floats(1, 10**7),
        st.floats(0, 10**7),
    ),
    unique_by=lambda hour: hour.start,
    max_size=60,
).map(lambda found: sorted(found, key=lambda hour: hour.start))
histories = st.builds(
    history,
    st.dictionaries(st.integers(1, 5), days, max_size=4),
    hours=hours,
    causes=st.dictionaries(
        st.tuples(st.sampled_from(["failed", "refused", "blocked", "withheld"]), st.sampled_from(["", "worker_lost"])),
        st.lists(st.integers(0, 50), min_size=NUM_DAYS, max_size=NUM_DAYS),
    ),
    workers=st.lists(
        st.builds(
            WorkerDay,
            st.integers(0, LAST),
            st.sampled_from(["one", "two"]),
            st.just("large"),
            st.integers(1, 200),
            st.floats(1, 10**6),
        ),
        max_size=20,
    ),
)


@given(histories)
def test_any_history_is_told_without_a_failure(given_history: History) -> None:
    for finding in told(given_history):
        assert finding.title.endswith(".")
        assert "inf" not in finding.title + finding.why
        assert "nan" not in finding.title + finding.why


@given(histories, st.integers(2, 1000))
def test_dearer_prices_change_no_finding(given_history: History, factor: int) -> None:
    def dearer(series: Sequence[Use]) -> list[Use]:
        return [replace(each, cost={name: nano * factor for name, nano in each.cost.items()}) for each in series]

    scaled = replace(
        given_history,
        users={user: dearer(series) for user, series in given_history.users.items()},
        models={model: dearer(series) for model, series in given_history.models.items()},
    )
    assert [each.key for each in suspicions(scaled)] == [each.key for each in suspicions(given_history)]


@given(st.lists(uses, min_size=1, max_size=3), st.integers(0, 20))
def test_constant_traffic_is_quiet(each_day: list[Use], num_failed: int) -> None:
    users = {number: [each] * NUM_DAYS for number, each in enumerate(each_day)}
    all_hours = [Hour(FIRST + timedelta(hours=hour), 50, 60_000, 80_000, 5_000) for hour in range(24 * NUM_DAYS)]
    constant = history(
        users,
        hours=all_hours,
        causes={("failed", "worker_lost"): [num_failed] * NUM_DAYS},
        workers=[WorkerDay(day, name, "large", 100, 9000) for day in range(NUM_DAYS) for name in ("one", "two")],
    )
    assert suspicions(constant) == []


@given(st.integers(1, 20))
def test_more_of_the_same_traffic_gives_the_same_findings(copies: int) -> None:
    def copied(each: Use) -> Use:
        return Use(
            *(copies * value for value in (each.num_requests,)),
            {"USD": copies * each.cost["USD"]},
            copies * each.input,
            copies * each.cached,
            copies * each.known_input,
            copies * each.output,
        )

    series = [use() for _ in range(LAST)] + [use(num=400)]
    few, many = history({1: series}), history({1: [copied(each) for each in series]})
    assert [each.title.partition(":")[0] for each in told(few)] == [each.title.partition(":")[0] for each in told(many)]


def test_nothing_and_one_request_are_quiet() -> None:
    assert suspicions(history()) == []
    one = [Use()] * LAST + [use(num=1, nano=10**12)]
    assert suspicions(history({1: one})) == []


def test_without_earlier_days_nothing_is_said() -> None:
    new = [Use()] * NUM_BEFORE + [use(num=100), *[use(num=500)] * (NUM_DAYS - NUM_BEFORE - 1)]
    assert list(cost.find(history({1: new}))) == []


def test_a_user_who_spends_too_much_is_named_where_the_whole_does_not() -> None:
    usual_days, much = [use(num=100)] * NUM_DAYS, [*[use(num=40)] * LAST, use(num=120)]
    (found,) = told(history({1: usual_days, 2: much}))
    assert found.title == "user 2's cost on Sunday, Nov 15 was 3.0 times a usual Sunday: $0.12 against $0.040."
    assert found.why == "A usual Sunday has 40 requests, so there were 3.0 times as many."
    assert found.lead.user_id == 2


def test_neighbouring_days_are_one_finding() -> None:
    series = [use()] * (NUM_DAYS - 3) + [use(num=300)] * 3
    (found,) = told(history({1: series}))
    assert found.title.startswith("Cost from Nov 13 to Nov 15 was 3.0 times the usual of such days")


def test_a_low_hit_rate_names_the_user_without_whom_it_was_usual() -> None:
    good, bad = [use(cached=0.7)] * NUM_DAYS, [*[use(num=100, cached=0.7)] * LAST, use(num=100, cached=0, read=800)]
    (found,) = (each for each in told(history({1: good, 2: bad})) if each.kind == "cache")
    assert found.title == "Only 14 % of the input came from the cache on Sunday, Nov 15, against 70 % on usual days."
    assert found.why == (
        "user 2's 100 requests took 0 % of their input from the cache. Without them the share was 70 %."
    )


def test_a_rise_of_refusals_is_told_by_its_cause() -> None:
    rise = {("refused", "too_many_open"): [1] * LAST + [30], ("refused", "budget"): [3] * NUM_DAYS}
    (found,) = causes.find(history({1: [use()] * NUM_DAYS}, causes=rise))
    assert (found.lead["code"], found.severity) == ("too_many_open", "high")


def hour_of(place: int, first_token: float, queue: float) -> Hour:
    return Hour(FIRST + timedelta(hours=place), 20, first_token * 0.8, first_token, queue)


def test_a_slow_hour_says_whether_queue_or_computing_made_it_slow() -> None:
    place = 24 * LAST + 15
    normal = [hour_of(each, 100_000, 5_000) for each in range(place)]
    (queued,) = told(history(hours=[*normal, hour_of(place, 3_000_000, 2_900_000)]))
    assert queued.title == (
        "It was slow on Sunday, Nov 15, from 15:00 to 16:00: the median request waited 3.0 s for its first token, "
        "30 times the usual 100 ms."
    )
    assert (
        queued.why == "The queue made it slow: 100 % of the additional time was spent waiting (2.9 s against 5.0 ms)."
    )
    (computed,) = told(history(hours=[*normal, hour_of(place, 3_000_000, 5_000)]))
    assert "The computing made it slow, not the queue: 3.0 s after the queue, against 95 ms." in computed.why


def test_a_slow_hour_of_few_requests_needs_most_of_them_slow() -> None:
    place = 24 * LAST
    normal = [hour_of(each, 100_000, 5_000) for each in range(place)]
    mixed = Hour(FIRST + timedelta(hours=place), 5, 100_000, 3_000_000, 5_000)
    assert list(slow_hours.find(history(hours=[*normal, mixed]))) == []


def test_a_worker_is_compared_with_the_others_or_with_its_own_days() -> None:
    both = [WorkerDay(LAST, "one", "large", 50, 9_000), WorkerDay(LAST, "two", "large", 50, 30_000)]
    (found,) = workers.find(history(workers=both))
    assert found.subject == "two:large"
    alone = [WorkerDay(day, "one", "large", 50, 9_000.0 if day < LAST else 30_000) for day in range(LAST - 6, LAST + 1)]
    (found,) = workers.find(history(workers=alone))
    assert found.span.start == STARTS[LAST]
    # The requests do not bear it out: there is none.
    assert told(history(workers=both)) == []


def test_growing_inputs_need_a_trend() -> None:
    grown = [use(read=100 + 10 * day) for day in range(NUM_DAYS)]
    (found,) = told(history({1: grown}))
    assert found.title.startswith("Requests of user 1 read ever more input: 1.")
    jumping = [use(read=100 if day % 2 else 900) for day in range(NUM_DAYS)]
    assert list(growth.find(history({1: jumping}))) == []


def test_a_spender_is_one_far_above_the_others() -> None:
    users = {number: [use(num=10)] * NUM_DAYS for number in range(5)} | {9: [use(num=60)] * NUM_DAYS}
    (found,) = spender.find(history(users))
    assert found.lead == {"user_id": 9}
    assert list(spender.find(history({number: [use()] * NUM_DAYS for number in range(5)}))) == []


def moved(given_history: History, num_days: int) -> History:
    """The same traffic so many days later."""
    by = timedelta(days=num_days)
    return replace(given_history, starts=tuple(each + by for each in given_history.starts), end=given_history.end + by)


def test_a_finding_whose_days_move_on_has_one_key_for_a_week() -> None:
    spent = history({number: [use(num=10)] * NUM_DAYS for number in range(5)} | {9: [use(num=60)] * NUM_DAYS})
    grown = [use(read=100 + 10 * day) for day in range(NUM_DAYS)]
    one, two = history({1: grown}), history({1: grown, 2: grown})
    sunday, monday, next_sunday = 0, 1, 7
    for find, before, after in ((spender.find, spent, spent), (growth.find, one, two)):
        (first,), (last,) = find(moved(before, monday)), find(moved(after, next_sunday))
        assert first.key == last.key
        (earlier,) = find(moved(before, sunday))
        assert first.key != earlier.key


def test_days_are_compared_with_the_same_weekday_where_enough_are_known() -> None:
    weeks = baseline(LAST, 0)
    assert weeks is not None
    assert weeks.is_weekday
    assert {day % 7 for day in weeks.days} == {LAST % 7}
    few = baseline(10, 0)
    assert few is not None
    assert not few.is_weekday
    assert baseline(4, 0) is None


def test_runs_and_deviation() -> None:
    assert runs([1, 2, 4, 7, 8, 9]) == [(1, 2), (4, 4), (7, 9)]
    assert usual([1, 2, 3, 4, 1000]).middle == 3
    assert usual([5, 5, 5]).spread == 0
    assert list(cache.find(history())) == []


def test_words() -> None:
    assert [money(nano, "USD") for nano in (0, 3_100_000_000, 97_000_000, 1_200, 20_000_000)] == [
        "$0.00",
        "$3.10",
        "$0.097",
        "$0.0000012",
        "$0.020",
    ]
    assert money(1_500_000_000, "CHF") == "1.50 CHF"
    assert [plain(seconds(us)) for us in (7_400_000, 310_000, 4_800)] == ["7.4 s", "310 ms", "4.8 ms"]
    assert names(["a"]) == "a"
    assert names(["a", "b"]) == "a and b"
    assert names(["a", "b", "c", "d"]) == "a, b, c and 1 other"
