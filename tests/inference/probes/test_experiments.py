"""What the exhibits try on a model: on tiny checkpoints of every family."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch

from inference.models.sources.safetensors_folder import SafetensorsFolder
from inference.probes.experiments import compare, loop, read, request_ids, tell_apart
from inference.probes.model import ProbedModel
from inference.protocol.codec import encode_outcome
from inference.protocol.experiments import (
    MAX_TEXT_TOKENS,
    ExperimentOutcome,
    ExperimentRequest,
    GuessRequest,
    LoopRequest,
    NearnessRequest,
    OrderRequest,
    ReadingRequest,
)
from tests.inference.models.checkpoints import FAMILIES, VOCAB, Checkpoint, write_checkpoint

IDS = tuple(int(token) for token in np.random.default_rng(5).integers(VOCAB, size=12))


@pytest.fixture(scope="module", params=FAMILIES)
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint") / request.param, request.param)


@pytest.fixture(scope="module")
def model(checkpoint: Checkpoint) -> ProbedModel:
    return ProbedModel(SafetensorsFolder(checkpoint.folder), max_tokens=48)


def label(token: int) -> bytes:
    return b"%d" % token


@torch.inference_mode()
def test_a_reading_tells_what_the_model_itself_would_say_next(checkpoint: Checkpoint, model: ProbedModel) -> None:
    expected = checkpoint.model(torch.tensor([IDS])).logits[0, -1].float().softmax(-1)
    outcome = read(ReadingRequest(ids=IDS, asked=(3, 7)), model, label)
    assert outcome.asked == pytest.approx([float(expected[3]), float(expected[7])], rel=1e-3)
    assert [each.id for each in outcome.next] == expected.topk(len(outcome.next)).indices.tolist()
    assert outcome.next[0].piece == label(outcome.next[0].id)
    assert len(outcome.weights) == outcome.num_layers * outcome.num_heads * len(IDS)
    assert msgspec.json.decode(encode_outcome(outcome), type=ExperimentOutcome) == outcome


def test_a_token_is_nearest_to_itself_and_the_rest_follow_in_order(model: ProbedModel) -> None:
    outcome = compare(NearnessRequest(ids=(5, 5, 9)), model, label)
    assert outcome.asked[:2] == pytest.approx([1.0, 1.0], abs=1e-5)
    cosines = [near.cosine for near in outcome.nearest]
    assert cosines == sorted(cosines, reverse=True)
    assert 5 not in {near.id for near in outcome.nearest}
    found = {near.id: near.cosine for near in outcome.nearest}
    assert outcome.asked[2] <= cosines[0] + 1e-6
    assert found.get(9, outcome.asked[2]) == pytest.approx(outcome.asked[2])


def test_without_positions_the_first_layer_cannot_tell_an_order(model: ProbedModel) -> None:
    short = IDS[:5]  # within the sliding window that some families have
    other = (*reversed(short[:-1]), short[-1])
    first = tell_apart(OrderRequest(first=short, second=other), model).layers[0]
    assert first.unturned < 1e-5
    assert first.turned > 100 * first.unturned
    same = tell_apart(OrderRequest(first=IDS, second=IDS), model)
    assert {layer.turned for layer in same.layers} == {0.0}


def test_a_cache_computes_each_token_once_and_changes_no_answer(model: ProbedModel) -> None:
    steps = loop(LoopRequest(ids=IDS, num_tokens=5), model, label).steps
    assert [step.num_cached_tokens for step in steps] == [12, 1, 1, 1, 1]
    assert [step.num_uncached_tokens for step in steps] == [12, 13, 14, 15, 16]
    assert all(step.is_same for step in steps)
    again = read(ReadingRequest(ids=(*IDS, *(step.id for step in steps[:-1]))), model, label)
    assert again.next[0].id == steps[-1].id


LONG = tuple(range(MAX_TEXT_TOKENS + 1))


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (ReadingRequest(ids=()), "ids"),
        (ReadingRequest(ids=LONG), "ids"),
        (ReadingRequest(ids=(-1,)), "ids"),
        (ReadingRequest(ids=(1,), asked=(1,) * 9), "asked"),
        (NearnessRequest(ids=()), "ids"),
        (NearnessRequest(ids=(1,) * 9), "ids"),
        (OrderRequest(first=(1, 2), second=(1, 3)), "second"),
        (OrderRequest(first=(1, 2), second=(2, 1)), "second"),
        (OrderRequest(first=(1,), second=()), "second"),
        (LoopRequest(ids=(1,), num_tokens=0), "num_tokens"),
        (LoopRequest(ids=LONG, num_tokens=1), "ids"),
        (GuessRequest(prompt=(), answer=(1,), num_guesses=1), "answer"),
        (GuessRequest(prompt=(1,) * 2048, answer=(1,), num_guesses=1), "answer"),
        (GuessRequest(prompt=(1,), answer=(1,), num_guesses=9), "num_guesses"),
        (GuessRequest(prompt=(1,), answer=(1 << 40,), num_guesses=0), "answer"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(request_: ExperimentRequest, field: str) -> None:
    problem = request_.problem()
    assert problem is not None
    assert problem.field == field


def test_every_token_that_is_named_is_checked() -> None:
    assert request_ids(ReadingRequest(ids=(1,), asked=(2,))) == (1, 2)
    assert request_ids(OrderRequest(first=(1, 2), second=(1, 2))) == (1, 2, 1, 2)
    assert request_ids(NearnessRequest(ids=(4,))) == request_ids(LoopRequest(ids=(4,), num_tokens=1)) == (4,)
