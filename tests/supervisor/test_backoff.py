"""A process that ends again and again is started less and less often, but never given up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webapp.operations.supervisor.backoff import Backoff


def test_the_delays_double_up_to_half_a_minute() -> None:
    backoff = Backoff()
    assert [backoff.next_delay_s(age_s=2) for _ in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]


@given(ages=st.lists(st.floats(0, 1e6), max_size=2000))
def test_a_process_that_ran_for_long_starts_again_at_once(ages: list[float]) -> None:
    backoff = Backoff()
    for age_s in ages:
        assert 0 <= backoff.next_delay_s(age_s) <= 30
    assert backoff.next_delay_s(age_s=3600) == 0
