"""Summaries of rows against numpy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from inference.kernels.forms import FORMS
from inference.kernels.library import Kernels
from inference.sampling.native_vocabulary import native_summarise
from inference.sampling.vocabulary import Summarise, log_sum_exp, rank
from inference.sampling.vocabulary import summarise as portable_summarise
from tests.inference.forms import load_form
from tests.inference.sampling import reference


@pytest.fixture(scope="module", params=[None, *FORMS], ids=lambda form: form.label if form else "numpy")
def summarise(request: pytest.FixtureRequest) -> Summarise:
    return portable_summarise if request.param is None else native_summarise(load_form(request.param))


def row(key: int, size: int, scale: float = 3, num_removed: int = 0, num_equal: int = 0) -> NDArray[np.float32]:
    generator = np.random.default_rng(key)
    result = (generator.standard_normal(size) * scale).astype(np.float32)
    result[generator.integers(0, size, num_equal)] = result.max()
    result[generator.permutation(size)[: min(num_removed, size - 1)]] = -np.inf
    return result


ROWS = st.builds(
    row,
    key=st.integers(0, 2**32 - 1),
    size=st.sampled_from([1, 2, 7, 100, 800, 5000]),
    scale=st.sampled_from([0.0, 0.01, 3.0, 1000.0]),
    num_removed=st.sampled_from([0, 1, 90, 4999]),
    num_equal=st.sampled_from([0, 3, 300]),
)


@given(ROWS, st.sampled_from([0.01, 0.7, 1.0, 5.0]), st.sampled_from([1, 20, 128, 1500, 6000]))
def test_a_summary_says_of_a_row_what_float64_says(
    summarise: Summarise, logits: NDArray[np.float32], temperature: float, num_sorted: int
) -> None:
    summary = summarise(logits[None], [temperature], num_sorted)[0]
    kept = np.flatnonzero(logits > -np.inf)
    assert summary.is_finite == bool(np.isfinite(logits).all())
    assert summary.num_candidates == len(kept)
    assert summary.ids.tolist() == sorted(kept.tolist(), key=lambda i: (-logits[i], i))[:num_sorted]
    assert summary.logits.tolist() == logits[summary.ids].tolist()
    for divisor, log_normalizer, entropy in (
        (1.0, summary.log_normalizer, summary.entropy),
        (temperature, summary.scaled_log_normalizer, summary.scaled_entropy),
    ):
        x = logits[kept].astype(np.float64) / divisor
        total = reference.log_sum_exp(x.tolist())
        p = np.exp(x - total)
        assert log_normalizer == pytest.approx(total, rel=1e-6, abs=2e-6)
        assert entropy == pytest.approx(float((p * (total - x)).sum()), rel=1e-4, abs=1e-5)
    assert log_sum_exp(logits) == pytest.approx(summary.log_normalizer, abs=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 1000, 49_152]), st.integers(1, 5), st.sampled_from([0.3, 1.0]))
def test_a_row_has_the_same_bits_alone_among_others_and_however_many_are_sorted(
    summarise: Summarise, key: int, size: int, num_rows: int, temperature: float
) -> None:
    rows = np.stack([row(key + i, size) for i in range(num_rows)])
    together = summarise(rows, [temperature] * num_rows, 128)
    for logits, summary in zip(rows, together, strict=True):
        alone = summarise(logits.copy()[None], [temperature], 40)[0]
        for left, right in zip(alone, summary, strict=True):
            if isinstance(left, np.ndarray):
                assert left.tolist() == right[:40].tolist()
            else:
                assert left == right


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_told_apart_from_its_neighbours(summarise: Summarise, value: float) -> None:
    rows = np.zeros((2, 100), np.float32)
    rows[0, 50] = value
    assert [summary.is_finite for summary in summarise(rows, [1.0, 0.5], 10)] == [False, True]


def test_quotients_that_would_overflow_have_no_weight(summarise: Summarise) -> None:
    logits = np.array([1e37, -2e38, 0, 1e37], np.float32)
    summary = summarise(logits[None], [0.001], 4)[0]
    assert summary.is_finite and summary.ids.tolist() == [0, 3, 2, 1]
    assert summary.entropy == summary.scaled_entropy == pytest.approx(np.log(2))
    assert summary.scaled_log_normalizer == pytest.approx(1e40)


def test_a_row_of_removed_tokens_has_no_candidates(summarise: Summarise) -> None:
    assert summarise(np.full((1, 9), -np.inf, np.float32), [1.0], 4)[0].num_candidates == 0


def test_equals_share_the_best_rank() -> None:
    logits = np.array([1, 3, 3, 2], np.float32)
    assert [rank(logits, token) for token in range(4)] == [4, 1, 1, 3]


@pytest.mark.parametrize("size", [10_000, 49_152, 262_144])
@pytest.mark.parametrize("num_sorted", [128, 512, 2048, 32_768])
def test_the_kernels_are_never_asked_to_sort_a_whole_row(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch, size: int, num_sorted: int
) -> None:
    asked = []
    summarise = kernels.summarise
    monkeypatch.setattr(kernels, "summarise", lambda *args: (asked.append(args[2]), summarise(*args))[1])
    logits = row(size + num_sorted, size, num_equal=300)
    (summary,) = native_summarise(kernels)(logits[None], [1.0], num_sorted)
    assert asked[0] < size / 64  # one candidate for each run of the kernels
    assert summary.ids.tolist() == np.lexsort((np.arange(size), -logits))[:num_sorted].tolist()
