"""DRY against a reference that tries each length of the answer's end at each place before it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.request import SamplingParams
from inference.sampling.dry import MAX_PENALTY, Dry
from inference.sampling.sampler import Sampler
from tests.golden import record_dry
from tests.inference.sampling import reference

PIECES = [b"a", b"b", b" c", b"line\n", b"x:y", "é".encode()]
TOKENS = st.integers(0, len(PIECES) - 1)
PARAMS = st.builds(
    SamplingParams,
    dry_multiplier=st.sampled_from([0.5, 0.8, 10.0]),
    dry_base=st.sampled_from([1.0, 1.75, 10.0]),
    dry_allowed_length=st.sampled_from([1, 2, 3, 7]),
    dry_penalty_last_n=st.sampled_from([-1, 1, 5, 20]),
    dry_sequence_breakers=st.sampled_from([(), ("\n", ":"), ("b",), ("é", "line")]),
)


def penalties(params: SamplingParams, output: list[int]) -> list[float]:
    """Of each token, by one DRY that reads the output at once."""
    logits = np.zeros(len(PIECES), np.float32)
    Dry(params, PIECES.__getitem__).process(logits, output)
    return (-logits).tolist()


@given(PARAMS, st.lists(TOKENS, max_size=60))
def test_every_token_is_penalised_as_the_reference_says(params: SamplingParams, output: list[int]) -> None:
    expected = [reference.dry_penalty(token, params, output, PIECES) for token in range(len(PIECES))]
    assert penalties(params, output) == pytest.approx(expected, rel=1e-6)


@given(PARAMS, st.lists(TOKENS, max_size=40), st.data())
def test_it_may_read_the_answer_in_any_portions_and_be_asked_twice(
    params: SamplingParams, output: list[int], data: st.DataObject
) -> None:
    dry = Dry(params, PIECES.__getitem__)
    ends = sorted(data.draw(st.lists(st.integers(0, len(output)), max_size=5)))
    for end in [*ends, len(output), len(output)]:
        logits = np.zeros(len(PIECES), np.float32)
        dry.process(logits, output[:end])
    assert (-logits).tolist() == penalties(params, output)


def test_a_long_answer_is_read_beyond_the_first_room() -> None:
    output = [0, 1, 2] * 300
    found = penalties(SamplingParams(dry_multiplier=0.8), output)
    assert found == [MAX_PENALTY, 0, 0, 0, 0, 0]


def test_two_tokens_may_return_and_a_third_costs() -> None:
    params = SamplingParams(dry_multiplier=0.8)
    assert penalties(params, [0, 1, 2, 0]) == [0] * 6
    assert penalties(params, [0, 1, 2, 0, 1]) == pytest.approx([0, 0, 0.8, 0, 0, 0])
    assert penalties(params, [5, 0, 1, 2, 5, 0, 1]) == pytest.approx([0, 0, 0.8 * 1.75, 0, 0, 0])


def test_words_of_the_prompt_are_free() -> None:
    sampler = Sampler(SamplingParams(dry_multiplier=10.0), [0, 1, 2, 0, 1], piece=PIECES.__getitem__)
    logits = np.zeros(len(PIECES), np.float32)
    assert [processor.logits for processor in sampler.sample(logits, []).processors if processor.name == "dry"] == [
        (0,) * 6
    ]
    assert sampler.sample(logits, [3, 4]).processors[0].logits == (0,) * 6


def test_the_page_s_examples_are_the_engine_s() -> None:
    assert json.loads(record_dry.PATH.read_text("utf-8")) == record_dry.document()
