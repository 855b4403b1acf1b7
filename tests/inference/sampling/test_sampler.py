"""The sampler against a plain float64 reference that sorts the whole vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from inference.protocol.request import LogitBias, SamplingParams
from inference.sampling.draw import uniform
from inference.sampling.errors import NonFiniteLogits, SamplingFailed
from inference.sampling.sampler import NUM_SORTED, Sample, Sampler
from inference.sampling.vocabulary import Summarise, Summary, summarise
from tests.inference.sampling import reference

TOKENS = st.integers(0, 49)
PARAMS = st.builds(
    SamplingParams,
    logit_bias=st.dictionaries(TOKENS, st.floats(-20, 20), max_size=3).map(
        lambda biases: tuple(LogitBias(id=token, bias=bias) for token, bias in biases.items())
    ),
    banned_token_ids=st.lists(TOKENS, max_size=5).map(tuple),
    repetition_penalty=st.sampled_from([1.0, 1.3]),
    frequency_penalty=st.sampled_from([0.0, 0.4]),
    presence_penalty=st.sampled_from([0.0, 0.5]),
    dry_multiplier=st.sampled_from([0.0, 0.8]),
    dry_allowed_length=st.sampled_from([1, 2]),
    temperature=st.sampled_from([0.0, 0.2, 0.7, 1.0, 2.0]),
    top_k=st.sampled_from([0, 1, 5, 40, 3000]),
    top_p=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.5]),
    typical_p=st.sampled_from([0.2, 0.9, 1.0]),
    seed=st.integers(0, 2**53 - 1),
)


class Fixed:
    """A grammar that always allows the same tokens."""

    def __init__(self, allowed: set[int], size: int) -> None:
        self._allowed = np.isin(np.arange(size), list(allowed))

    duration_us = 1

    def accept(self, tokens: Sequence[int]) -> None: ...

    def wait(self, patience_s: float) -> bool:
        return True

    def allowed(self) -> NDArray[np.bool_]:
        return self._allowed


class Case:
    """One token to sample."""

    def __init__(self, params: SamplingParams, key: int, size: int, num_output: int, num_allowed: int | None) -> None:
        generator = np.random.default_rng(key)
        self.params = params
        self.logits = (generator.standard_normal(size) * 3).astype(np.float32)
        self.prompt = generator.integers(0, size, 5).tolist()
        # From few tokens, so that some sequences stand in it twice.
        self.output = generator.integers(0, 6, num_output).tolist()
        self.pieces = [b":" if token == 5 else b"a" for token in range(size)]
        self.allowed = None if num_allowed is None else set(generator.permutation(size)[:num_allowed].tolist())

    def sampler(self, summarise: Summarise = summarise) -> Sampler:
        grammar = None if self.allowed is None else Fixed(self.allowed, len(self.logits))
        return Sampler(self.params, self.prompt, 20, grammar, summarise, self.pieces.__getitem__)

    def sample(self) -> Sample:
        return self.sampler().sample(self.logits, self.output)

    def reference(self) -> tuple[list[reference.Left], reference.Floats]:
        return reference.processors(self.logits, self.params, self.prompt, self.output, self.allowed, self.pieces)


CASES = st.builds(
    Case,
    params=PARAMS,
    key=st.integers(0, 2**32 - 1),
    size=st.sampled_from([50, 400]),
    num_output=st.integers(0, 30),
    num_allowed=st.sampled_from([None, 8, 45]),
)


def is_near_tie(case: Case) -> bool:
    """Whether float32 may put a cut elsewhere than float64: the reference changes when the logits move a little."""
    moved = Case.__new__(Case)
    moved.__dict__ |= case.__dict__
    noise = np.random.default_rng(1).standard_normal(len(case.logits)) * 1e-5
    moved.logits = (case.logits + noise).astype(np.float32)
    return [left.tokens for left in moved.reference()[0]] != [left.tokens for left in case.reference()[0]]


@given(CASES)
def test_every_stage_leaves_what_the_reference_leaves(case: Case) -> None:
    assume(not is_near_tie(case))
    sample = case.sample()
    expected, final = case.reference()
    assert [effect.name for effect in sample.processors] == [left.name for left in expected]
    before = sample.log_normalizer
    for effect, left in zip(sample.processors, expected, strict=True):
        assert effect.num_candidates == len(left.tokens)
        assert effect.log_normalizer == pytest.approx(left.log_normalizer, abs=1e-4)
        is_cut = effect.name not in ("logit_bias", "penalties", "dry", "temperature")
        assert effect.mass == pytest.approx(np.exp(left.log_normalizer - before) if is_cut else 1, abs=1e-4)
        before = left.log_normalizer
    assert sample.high - sample.low == pytest.approx(final[sample.id], abs=1e-4)
    assert sample.logprob == pytest.approx(
        float(case.logits[sample.id]) - reference.log_sum_exp(case.logits.tolist()), abs=1e-5
    )
    assert sample.rank == 1 + sum(case.logits > case.logits[sample.id])


@given(CASES)
def test_the_chosen_interval_holds_the_draw(case: Case) -> None:
    sample = case.sample()
    if case.params.temperature == 0:
        assert (sample.u, sample.low, sample.high) == (None, 0.0, 1.0)
    else:
        assert sample.u == uniform(case.params.seed or 0, len(case.output))
        assert 0 <= sample.low <= sample.u < sample.high <= 1


@given(CASES, st.sampled_from([20, 33, 400]))
def test_nothing_depends_on_how_many_candidates_are_sorted(case: Case, num_sorted: int) -> None:
    def fewer(logits: NDArray[np.float32], temperatures: Sequence[float], count: int) -> list[Summary]:
        return summarise(logits, temperatures, count * num_sorted // NUM_SORTED)

    sample = case.sampler(fewer).sample(case.logits, case.output)
    assert without_time(sample) == without_time(case.sample())


@given(CASES)
def test_a_summary_made_beforehand_changes_nothing(case: Case) -> None:
    sampler = case.sampler()
    rows = np.stack([case.logits, case.logits * 2])
    summary = summarise(rows, [sampler.summary_temperature] * 2, 20)[0]
    assert without_time(sampler.sample(case.logits, case.output, summary)) == without_time(case.sample())


@given(CASES)
def test_whoever_reads_the_record_finds_every_probability(case: Case) -> None:
    """As the page does it, from recorded values alone; the last column is the distribution of the draw."""
    sample = case.sample()
    logits = dict(zip(sample.candidate_ids, sample.candidate_logits, strict=True))
    masked = {token for effect in sample.processors for token in effect.masked}
    ordered = [token for token in sample.candidate_ids if token not in masked]
    left = set(logits)
    log_normalizer = sample.log_normalizer
    for effect in sample.processors:
        left -= set(effect.masked)
        if effect.logits is not None:
            logits |= dict(zip(ordered, effect.logits, strict=True))
        if effect.name == "temperature":
            logits = {token: logit / case.params.temperature for token, logit in logits.items()}
        run = ordered[effect.first : effect.first + effect.num_candidates]
        left &= {*run, *masked, sample.id}
        log_normalizer = effect.log_normalizer
    final = case.reference()[1]
    if case.params.temperature > 0 and not is_near_tie(case):
        assert {token for token in left if final[token] == 0} == set()
        for token in left:
            assert np.exp(logits[token] - log_normalizer) == pytest.approx(final[token], rel=2e-3, abs=1e-6)
        assert left == {token for token in logits if final[token] > 0}


@given(CASES)
def test_tokens_sampled_one_after_the_other_are_those_of_one_call(case: Case) -> None:
    sampler = case.sampler()
    for end in range(len(case.output)):
        sampler.sample(case.logits, case.output[:end])
    assert without_time(sampler.sample(case.logits, case.output)) == without_time(case.sample())


def without_time(sample: Sample) -> list[object]:
    return [getattr(sample, name) for name in sample.__struct_fields__ if name != "grammar_us"]


def test_the_model_s_own_first_tokens_are_recorded_when_they_are_masked() -> None:
    logits = np.array([5, 4, 3, 2, 1], np.float32)
    params = SamplingParams(temperature=1.0, top_p=1.0, banned_token_ids=(1,), seed=1)
    sample = Sampler(params, [], 3, Fixed({1, 2, 3, 4}, 5)).sample(logits, [])
    assert sample.candidate_ids == (2, 3, 4, 0, 1)
    assert sample.candidate_logits == (3, 2, 1, 5, 4)
    assert [(effect.name, effect.num_candidates, effect.masked) for effect in sample.processors] == [
        ("grammar", 4, (0,)),
        ("banned_tokens", 3, (1,)),
    ]
    assert sample.processors[0].mass == pytest.approx(1 - np.exp(5 - sample.log_normalizer))
    assert sample.grammar_us is not None


def test_typical_sampling_may_drop_the_most_likely() -> None:
    logits = np.log(np.array([0.4, *[0.06] * 10], np.float64)).astype(np.float32)
    params = SamplingParams(temperature=1.0, top_p=1.0, typical_p=0.5, seed=1)
    effect = Sampler(params).sample(logits, []).processors[-1]
    assert (effect.name, effect.first, effect.num_candidates) == ("typical_p", 1, 9)
    assert effect.mass == pytest.approx(0.54, abs=1e-5)


def test_greedy_takes_the_most_likely_and_draws_nothing() -> None:
    logits = np.array([0.0, 3.0, 3.0, 1.0], np.float32)
    sample = Sampler(SamplingParams(temperature=0.0)).sample(logits, [])
    assert (sample.id, sample.u, sample.low, sample.high, sample.processors) == (1, None, 0.0, 1.0, ())


def test_a_token_beyond_the_recorded_is_recorded_too() -> None:
    logits = np.zeros(5000, np.float32)
    params = SamplingParams(temperature=1.0, top_p=1.0, seed=3)
    sample = Sampler(params, num_candidates=20).sample(logits, [])
    assert sample.id == int(uniform(3, 0) * 5000) == sample.candidate_ids[20]
    assert len(sample.candidate_ids) == 21


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_broken_logits_are_refused(value: float) -> None:
    with pytest.raises(NonFiniteLogits):
        Sampler(SamplingParams()).sample(np.array([0.0, value], np.float32), [])


def test_a_choice_among_no_tokens_is_refused() -> None:
    with pytest.raises(SamplingFailed, match="no token is left"):
        Sampler(SamplingParams(banned_token_ids=(0, 1))).sample(np.zeros(2, np.float32), [])


@pytest.mark.parametrize("temperature", [1e-3, 1e-5, 1e-30, 5e-324])
def test_a_temperature_near_zero_takes_the_most_likely(temperature: float) -> None:
    logits = (np.random.default_rng(1).standard_normal(3000) * 3).astype(np.float32)
    sample = Sampler(SamplingParams(temperature=temperature, seed=5)).sample(logits, [])
    assert sample.id == logits.argmax()
    assert all(0.999 < effect.mass <= 1 and np.isfinite(effect.log_normalizer) for effect in sample.processors)


def test_the_same_seed_and_position_give_the_same_draw() -> None:
    assert uniform(1, 0) == uniform(1, 0)
    assert len({uniform(seed, position) for seed in range(20) for position in range(20)}) == 400
    draws = [uniform(3, position) for position in range(20_000)]
    assert np.mean(draws) == pytest.approx(0.5, abs=0.01)
    assert all(0 <= draw < 1 for draw in draws)


def test_the_draws_are_pinned() -> None:
    """The same numbers came from an implementation in JavaScript; the first is SplitMix64's own first output."""
    assert uniform(0, 0) == (0xE220A8397B1DCDAF >> 11) * 2.0**-53
    keys = ((1, 0), (1, 1), (2**53 - 1, 500))
    expected = [0.7497482413580301, 0.37239342287916577, 0.07562781965265741]
    assert [uniform(seed, position) for seed, position in keys] == expected
