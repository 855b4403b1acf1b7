"""The buckets in a real Redis agree with a plain model, whatever is repeated, lost or done at once."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webapp.usage.limits.rate_scripts import CORRECT, PER_UNIT, TAKE
from webapp.usage.limits.rates import Bucket, Kind, Rates

LIMITS: dict[Kind, int] = {"requests": 5, "input_tokens": 900, "output_tokens": 10**9}
BUCKETS = [Bucket("user:1", kind, limit) for kind, limit in LIMITS.items()]
ONE = Bucket("user:1", "requests", 50)
_CLOCK = "sightglass:{limits}:clock"


@pytest.fixture
def rates(redis_client: redis.Redis) -> Rates:
    return Rates(redis_client)


class Clocked(Rates):
    """The same scripts under a clock that the test sets."""

    def __init__(self, client: redis.Redis) -> None:
        super().__init__(client)
        own = f"redis.call('HMGET', '{_CLOCK}', 's', 'us')"
        self._take = client.register_script(TAKE.replace("redis.call('TIME')", own))
        self._correct = client.register_script(CORRECT.replace("redis.call('TIME')", own))

    def set_clock(self, now_ms: int) -> None:
        self._client.hset(_CLOCK, mapping={"s": now_ms // 1000, "us": now_ms % 1000 * 1000})


class Model:
    """The same buckets in plain Python."""

    def __init__(self) -> None:
        self.now = 10**12
        self.debt = dict.fromkeys(BUCKETS, 0)
        self.at = dict.fromkeys(BUCKETS, self.now)
        self.taken: dict[int, list[int]] = {}
        self.since: dict[int, int] = {}

    def debts(self) -> list[int]:
        self.at = {each: min(at, self.now) for each, at in self.at.items()}
        return [max(0, self.debt[each] - each.limit * (self.now - self.at[each])) for each in BUCKETS]

    def _write(self, debts: list[int]) -> None:
        for each, debt in zip(BUCKETS, debts, strict=True):
            self.debt[each], self.at[each] = max(0, debt), self.now

    def take(self, request: int, amounts: list[int]) -> bool:
        if request in self.taken:
            return True
        after = [debt + amount * PER_UNIT for debt, amount in zip(self.debts(), amounts, strict=True)]
        if any(debt > each.limit * PER_UNIT for each, debt in zip(BUCKETS, after, strict=True)):
            return False
        self.taken[request], self.since[request] = amounts, self.now
        self._write(after)
        return True

    def correct(self, request: int, used: list[int]) -> bool:
        taken = self.taken.pop(request, None)
        if taken is None:
            return False
        for each, debt, was, now in zip(BUCKETS, self.debts(), taken, used, strict=True):
            more = (now - was) * PER_UNIT
            if more < 0:
                more = min(0, more + each.limit * max(0, self.now - self.since[request]))
            if more:
                self.debt[each], self.at[each] = max(0, debt + more), self.now
        return True


REQUESTS = st.integers(0, 5)
AMOUNTS = st.tuples(st.integers(0, 2), st.integers(0, 1000), st.integers(0, 10**9)).map(list)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), REQUESTS, AMOUNTS),
        st.tuples(st.just("correct"), REQUESTS, AMOUNTS),
        st.tuples(st.just("pass"), st.integers(0, 20_000), st.just([])),
        st.tuples(st.just("jump"), st.integers(-(10**9), 10**9), st.just([])),
    ),
    max_size=25,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_a_random_history_is_that_of_the_plain_model(redis_client: redis.Redis, steps: list[Any]) -> None:
    """Tries that are repeated, corrections that are repeated, and a clock that jumps both ways."""
    redis_client.flushall()
    rates, model = Clocked(redis_client), Model()
    rates.set_clock(model.now)
    for action, number, amounts in steps:
        if action in ("pass", "jump"):
            model.now += number
            rates.set_clock(model.now)
        elif action == "take":
            assert rates.take(BUCKETS, {str(number): amounts}).is_taken == model.take(number, amounts)
        else:
            used = dict(zip(LIMITS, amounts, strict=True))
            assert rates.correct(str(number), used.__getitem__) == model.correct(number, amounts)
        assert [level.debt for level in rates.levels(BUCKETS)] == model.debts()


def test_requests_take_together_or_not_at_all(rates: Rates) -> None:
    buckets = [Bucket("user:1", "requests", 3), Bucket("model:a", "input_tokens", 100)]
    assert not rates.take(buckets, {"a": [1, 60], "b": [1, 60]}).is_taken
    assert [level.debt for level in rates.levels(buckets)] == [0, 0]
    taking = rates.take(buckets, {"a": [1, 60], "b": [1, 40]})
    assert taking.is_taken
    assert [level.remaining for level in rates.levels(buckets)] == [1, 0]


def test_a_wait_is_long_enough_and_not_a_ms_too_long(redis_client: redis.Redis) -> None:
    rates = Clocked(redis_client)
    bucket = Bucket("user:1", "input_tokens", 7)
    rates.set_clock(10**12)
    assert rates.take([bucket], {"a": [5]}).is_taken
    wait_ms = rates.take([bucket], {"b": [4]}).levels[0].wait_ms(4)
    assert wait_ms == 17_143  # two of seven parts of a minute
    for passed, is_taken in ((wait_ms - 1, False), (wait_ms, True)):
        rates.set_clock(10**12 + passed)
        assert rates.take([bucket], {"b": [4]}).is_taken is is_taken


def test_an_empty_bucket_fills_again_after_a_clock_that_jumped_back(redis_client: redis.Redis) -> None:
    rates = Clocked(redis_client)
    bucket = Bucket("user:1", "requests", 10)
    rates.set_clock(10**12)
    assert rates.take([bucket], {"a": [10]}).is_taken
    rates.set_clock(10**12 - 3_600_000)
    wait_ms = rates.take([bucket], {"b": [1]}).levels[0].wait_ms(1)
    assert wait_ms == 6_000
    rates.set_clock(10**12 - 3_600_000 + wait_ms)
    assert rates.take([bucket], {"b": [1]}).is_taken


def test_a_correction_gives_back_no_more_than_time_has_not_filled(redis_client: redis.Redis) -> None:
    rates = Clocked(redis_client)
    bucket = Bucket("user:1", "input_tokens", 100)
    rates.set_clock(10**12)
    assert rates.take([bucket], {"a": [100]}).is_taken
    rates.set_clock(10**12 + 30_000)
    assert rates.take([bucket], {"b": [50]}).is_taken  # a full minute's amount is taken again
    rates.correct("a", lambda _: 0)
    assert rates.levels([bucket])[0].remaining == 50  # as if the first had taken nothing


def test_an_amount_beyond_the_limit_never_fits(rates: Rates) -> None:
    assert rates.take([ONE], {"a": [51]}).levels[0].wait_ms(51) is None


def test_a_limit_that_changes_keeps_what_is_missing(redis_client: redis.Redis) -> None:
    rates = Clocked(redis_client)
    rates.set_clock(10**12)
    rates.take([ONE], {"a": [40]})
    assert rates.levels([Bucket("user:1", "requests", 100)])[0].remaining == 60
    assert rates.levels([Bucket("user:1", "requests", 10)])[0].remaining == 0


def test_a_full_bucket_and_a_corrected_request_leave_no_key(redis_client: redis.Redis, rates: Rates) -> None:
    rates.take([ONE], {"a": [3]})
    assert rates.give_back("a")
    assert redis_client.keys() == []
    assert not rates.give_back("a")


def test_a_lost_redis_gives_full_buckets_and_corrects_nothing(redis_client: redis.Redis, rates: Rates) -> None:
    rates.take([ONE], {"a": [50]})
    redis_client.flushall()
    assert not rates.correct("a", lambda _: 10)
    assert rates.levels([ONE])[0].remaining == 50


_SENDER = """
import sys
from inference.eventlog.connections import connect
from webapp.usage.limits.rates import Bucket, Rates
url, name, num = sys.argv[1], sys.argv[2], int(sys.argv[3])
client = connect(url)
rates, buckets = Rates(client), [Bucket("user:1", "requests", 50), Bucket("site", "requests", 10**6)]
rates.levels(buckets)
client.blpop("go", 60)
print(sum(rates.take(buckets, {f"{name}-{n}": [1, 1]}).is_taken for n in range(num)))
"""


def test_four_processes_take_exactly_the_limit(redis_url: str, redis_client: redis.Redis, rates: Rates) -> None:
    start = [sys.executable, "-c", _SENDER, redis_url]
    senders = [subprocess.Popen([*start, str(each), "400"], stdout=subprocess.PIPE, text=True) for each in range(4)]
    before = rates.levels([ONE])[0].now_ms
    redis_client.rpush("go", *range(4))
    counts = [int(sender.communicate(timeout=60)[0]) for sender in senders]
    passed_ms = rates.levels([ONE])[0].now_ms - before
    # What came back meanwhile may be taken too, and no unit more.
    assert 50 <= sum(counts) <= 50 + passed_ms * 50 // 60_000
    # A try that is refused takes from no bucket.
    assert rates.levels([Bucket("site", "requests", 10**6)])[0].debt <= sum(counts) * PER_UNIT
