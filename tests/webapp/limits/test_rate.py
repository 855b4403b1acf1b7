"""A minute never begins more requests than the rate and the rest of the minute before allow, in any order of sends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webapp.limits.rate import MINUTE_US, Bucket

rates = st.integers(1, 10_000)
sends = st.lists(st.tuples(st.integers(0, MINUTE_US), st.integers(1, 40)), max_size=60)


@given(rates, sends)
def test_no_span_has_more_than_a_full_bucket_and_what_came_back(rate: int, tried: list[tuple[int, int]]) -> None:
    """tried: pauses, each with the number that is asked for after it. All or nothing of it is begun."""
    bucket, begun = Bucket(rate, 0, 0), list[tuple[int, int]]()
    for pause, num in tried:
        bucket = Bucket(rate, bucket.full_at, bucket.now + pause)
        if num <= bucket.remaining:
            bucket = bucket.after(num)
            begun.append((bucket.now, num))
    for first, (start, _) in enumerate(begun):
        total = 0
        for at, num in begun[first:]:
            total += num
            assert total <= rate + (at - start) * rate // MINUTE_US


@given(rates, st.integers(0, 10 * MINUTE_US), st.integers(1, 10_000))
def test_the_wait_is_long_enough_and_not_longer(rate: int, missing: int, num: int) -> None:
    bucket, num = Bucket(rate, missing, 0), min(num, rate)
    wait = bucket.wait_us(num)
    assert Bucket(rate, missing, wait).remaining >= num
    if wait:
        assert Bucket(rate, missing, wait - 1).remaining < num


@given(rates, rates, st.integers(0, 10_000))
def test_a_change_of_the_rate_keeps_the_number_that_is_missing(rate: int, other: int, num: int) -> None:
    before = Bucket(rate, 0, 5).after(min(num, rate))
    assert before.at_rate(other).remaining == max(0, other - min(num, rate))
    assert before.at_rate(rate).full_at == before.full_at
    assert before.at_rate(other).wait_us(1) <= before.at_rate(other).interval_us


@given(rates)
def test_an_idle_user_has_the_whole_minute(rate: int) -> None:
    assert Bucket(rate, 0, 5).remaining == rate
    assert Bucket(rate, 0, 5).after(rate).remaining == 0
