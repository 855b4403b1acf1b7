"""The sampler against a plain float64 reference that sorts the whole vocabulary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from numpy.typing import NDArray

from inference.protocol.request import SamplingParams
from inference.sampling.draw import uniform
from inference.sampling.sampler import NonFiniteLogits, Sampler

PARAMS = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.2, 0.7, 1.0, 2.0]),
    top_k=st.sampled_from([0, 1, 5, 40, 3000]),
    top_p=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.5]),
    repetition_penalty=st.sampled_from([1.0, 1.3]),
    presence_penalty=st.sampled_from([0.0, 0.5]),
    seed=st.integers(0, 2**53 - 1),
)


def reference(
    logits: NDArray[np.float32], params: SamplingParams, prompt: list[int], output: list[int]
) -> NDArray[np.float64]:
    """Final probability of every token."""
    x = logits.astype(np.float64)
    for token in set(prompt + output):
        if params.repetition_penalty != 1:
            x[token] = x[token] / params.repetition_penalty if x[token] > 0 else x[token] * params.repetition_penalty
    for token in set(output):
        x[token] -= params.presence_penalty
    x = x / params.temperature
    order = np.lexsort((np.arange(len(x)), -x))
    keep = len(x) if params.top_k == 0 else min(params.top_k, len(x))

    def probabilities() -> NDArray[np.float64]:
        kept = np.exp(x[order[:keep]] - x[order[0]])
        return kept / kept.sum()

    if params.top_p < 1:
        keep = min(keep, int(np.searchsorted(np.cumsum(probabilities()), params.top_p)) + 1)
    if params.min_p > 0:
        keep = int((x[order[:keep]] >= x[order[0]] + np.log(params.min_p)).sum())
    final = np.zeros(len(x))
    final[order[:keep]] = probabilities()
    return final


@given(PARAMS, st.integers(0, 2**32 - 1), st.integers(0, 500), st.sampled_from([50, 2000, 5000]))
def test_the_draw_lands_on_the_reference_distribution(
    params: SamplingParams, key: int, position: int, size: int
) -> None:
    generator = np.random.default_rng(key)
    logits = (generator.standard_normal(size) * 3).astype(np.float32)
    prompt, output = generator.integers(0, size, 5).tolist(), generator.integers(0, size, 5).tolist()
    sample = Sampler(params, 20).sample(logits, position, prompt, output)
    final = reference(logits, params, prompt, output)

    assert sample.u == uniform(params.seed or 0, position)
    assert sample.low <= sample.u < sample.high or sample.high == 1.0
    assert final[sample.id] > 0
    assert sample.high - sample.low == pytest.approx(final[sample.id], rel=1e-3, abs=1e-6)
    assert sample.id in sample.candidate_ids
    assert [stage.num_candidates for stage in sample.stages] == sorted(
        (stage.num_candidates for stage in sample.stages), reverse=True
    )


@given(st.integers(0, 2**32 - 1))
def test_recorded_stages_let_anyone_compute_the_probabilities(key: int) -> None:
    logits = (np.random.default_rng(key).standard_normal(300) * 2).astype(np.float32)
    params = SamplingParams(temperature=0.8, top_k=15, top_p=0.95)
    sample = Sampler(params, 20).sample(logits, 0, [], [])
    last = sample.stages[-1]
    shown = np.array(sample.candidate_logits[: last.num_candidates]) / params.temperature
    assert np.exp(shown - last.log_normalizer).sum() == pytest.approx(1, abs=1e-3)


def test_greedy_takes_the_most_likely_and_draws_nothing() -> None:
    logits = np.array([0.0, 3.0, 3.0, 1.0], np.float32)
    sample = Sampler(SamplingParams(temperature=0.0), 20).sample(logits, 0, [], [])
    assert (sample.id, sample.u, sample.low, sample.high, sample.stages) == (1, None, 0.0, 1.0, ())


def test_the_same_seed_and_position_give_the_same_draw() -> None:
    assert uniform(1, 0) == uniform(1, 0)
    assert len({uniform(seed, position) for seed in range(20) for position in range(20)}) == 400
    draws = [uniform(3, position) for position in range(20_000)]
    assert np.mean(draws) == pytest.approx(0.5, abs=0.01)
    assert all(0 <= draw < 1 for draw in draws)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_broken_logits_are_refused(value: float) -> None:
    with pytest.raises(NonFiniteLogits):
        Sampler(SamplingParams(), 20).sample(np.array([0.0, value], np.float32), 0, [], [])


@given(PARAMS, st.integers(0, 2**32 - 1), st.integers(0, 500), st.sampled_from([50, 2000]))
def test_every_stage_records_what_it_kept(params: SamplingParams, key: int, position: int, size: int) -> None:
    logits = (np.random.default_rng(key).standard_normal(size) * 3).astype(np.float32)
    params = structs.replace(params, repetition_penalty=1.0, presence_penalty=0.0)
    sample = Sampler(params, size).sample(logits, position, [], [])
    scaled = np.sort(logits.astype(np.float64))[::-1] / params.temperature
    kept = size
    for stage in sample.stages:
        before, kept = kept, stage.num_candidates
        assert stage.log_normalizer == pytest.approx(log_sum_exp(scaled[:kept]), abs=1e-5)
        mass = np.exp(log_sum_exp(scaled[:kept]) - log_sum_exp(scaled[:before]))
        assert stage.mass == pytest.approx(mass, abs=1e-5)
    bounds = np.cumsum(np.exp(scaled[:kept] - log_sum_exp(scaled[:kept])))
    assert sample.u is not None
    if np.abs(bounds - sample.u).min() > 1e-5:  # else rounding decides between two neighbours
        order = np.lexsort((np.arange(size), -logits))
        assert sample.id == order[np.searchsorted(bounds, sample.u, side="right")]


def log_sum_exp(values: NDArray[np.float64]) -> float:
    return float(values[0] + np.log(np.exp(values - values[0]).sum()))


@pytest.mark.parametrize("temperature", [1e-3, 1e-5, 1e-30, 5e-324])
def test_a_temperature_near_zero_takes_the_most_likely(temperature: float) -> None:
    logits = (np.random.default_rng(1).standard_normal(3000) * 3).astype(np.float32)
    sample = Sampler(SamplingParams(temperature=temperature, seed=5), 20).sample(logits, 0, [], [])
    assert sample.id == logits.argmax()
    assert all(0.999 < stage.mass <= 1 and np.isfinite(stage.log_normalizer) for stage in sample.stages)


def test_the_draws_are_pinned() -> None:
    """The same numbers came from an implementation in JavaScript; the first is SplitMix64's own first output."""
    assert uniform(0, 0) == (0xE220A8397B1DCDAF >> 11) * 2.0**-53
    keys = ((1, 0), (1, 1), (2**53 - 1, 500))
    expected = [0.7497482413580301, 0.37239342287916577, 0.07562781965265741]
    assert [uniform(seed, position) for seed, position in keys] == expected
