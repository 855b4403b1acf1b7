"""A sketch's percentiles are within its error of exact ones, and merged sketches equal one of all values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.usage.sketch import METRICS, RELATIVE_ERROR, distribution, merge, num_values, percentiles, sketch_of

US = st.integers(min_value=0, max_value=10**12)
TIMES = st.fixed_dictionaries({name: st.none() | US for name in METRICS})


@given(st.lists(TIMES), st.lists(TIMES))
def test_merged_sketches_equal_one_of_all_values(
    some: list[dict[str, int | None]], more: list[dict[str, int | None]]
) -> None:
    both = merge(sketch_of(each) for each in some + more)
    assert merge([merge(map(sketch_of, more)), merge(map(sketch_of, some))]) == both
    for name in METRICS:
        assert num_values(both, name) == sum(each[name] is not None for each in some + more)


@given(
    st.lists(st.integers(min_value=1, max_value=10**9), min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99])
)
def test_a_percentile_is_within_the_error(times: list[int], quantile: float) -> None:
    found = percentiles(merge(sketch_of({"queue_us": us}) for us in times), "queue_us", [quantile])
    exact = float(np.quantile(times, quantile, method="lower"))
    assert found == [pytest.approx(exact, rel=RELATIVE_ERROR)]


def test_a_metric_without_values_has_no_percentile() -> None:
    assert percentiles(sketch_of({"queue_us": 5}), "first_text_us", [0.5]) is None
    assert percentiles(b"", "queue_us", [0.5]) is None
    assert sketch_of({"queue_us": None}) == merge([]) == b""


BOUNDS = (1, 4, 16, 50, 1000, 10**6, 10**9)


@given(st.lists(st.integers(min_value=1, max_value=10**12), max_size=50), st.sampled_from(METRICS))
def test_a_distribution_counts_the_values_up_to_each_bound(values: list[int], metric: str) -> None:
    found = distribution([sketch_of({metric: each}) for each in values], metric, BOUNDS)
    near = 1 + 2.1 * RELATIVE_ERROR
    for bound, num in zip(BOUNDS, found.up_to, strict=True):
        assert sum(each <= bound for each in values) <= num <= sum(each <= bound * near for each in values)
    assert found.num == len(values)
    assert found.total == pytest.approx(sum(values), abs=RELATIVE_ERROR * sum(values) + 0.5)


@given(st.lists(st.integers(min_value=0, max_value=50)))
def test_a_distribution_of_small_numbers_is_exact(values: list[int]) -> None:
    found = distribution([sketch_of({"output_tokens": each}) for each in values], "output_tokens", BOUNDS)
    assert found.up_to == tuple(sum(each <= bound for each in values) for bound in BOUNDS)
