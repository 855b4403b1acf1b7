"""Probes against transformers on tiny checkpoints: the same attention, the same residual stream read out."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from inference.models.sources.gguf_file import GgufFile
from inference.models.sources.safetensors_folder import SafetensorsFolder
from inference.probes.errors import ProbeError
from inference.probes.laboratory import Laboratory
from inference.probes.model import ProbedModel
from inference.probes.probes import attend, compare, lens, measure, sum_up
from inference.protocol.codec import decode_probe, encode_probe
from inference.protocol.request import MAX_PROBE_TOKENS, ProbeKind, ProbeRequest
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.models.checkpoints import FAMILIES, VOCAB, Checkpoint, write_checkpoint

IDS = [int(token) for token in np.random.default_rng(3).integers(VOCAB, size=40)]
NEXT = 7
REQUEST = ProbeRequest(
    request_id="req_a",
    accepted_unix_us=0,
    kind="attention",
    ids=tuple(IDS),
    next_id=NEXT,
    principal="user:1",
    tokenizer_version="",
    model="m",
    architecture="llama",
    quantization="F32",
)


@pytest.fixture(scope="module", params=FAMILIES)
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint") / request.param, request.param)


@pytest.fixture(scope="module")
def model(checkpoint: Checkpoint) -> ProbedModel:
    return ProbedModel(SafetensorsFolder(checkpoint.folder), max_tokens=48)


def label(token: int) -> bytes:
    return b"%d" % token


@torch.inference_mode()
def test_attention_equals_transformers(checkpoint: Checkpoint, model: ProbedModel) -> None:
    expected = checkpoint.model(torch.tensor([IDS]), output_attentions=True).attentions
    rows = torch.stack([layer[0, :, -1].float() for layer in expected])  # [num_layers, num_heads, num_tokens]
    observed = model.observe(IDS).attention
    assert observed.shape == rows.shape
    torch.testing.assert_close(observed, rows, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(observed.sum(-1), torch.ones(rows.shape[:2]))


def test_what_a_screen_is_sent_is_as_near_as_stated(model: ProbedModel) -> None:
    event = attend(REQUEST, model)
    codes = np.frombuffer(event.weights, np.uint8).reshape(event.num_layers, event.num_heads, event.position + 1)
    exact = model.observe(IDS).attention.numpy()
    assert np.all(np.abs((codes / 255.0) ** 2 - exact) <= 0.004 * np.sqrt(exact) + 4e-6)


@torch.inference_mode()
def test_sums_over_ranges_equal_those_of_transformers_weights(checkpoint: Checkpoint, model: ProbedModel) -> None:
    """Also where the last range begins among the attending tokens, as an answer's does."""
    expected = checkpoint.model(torch.tensor([IDS]), output_attentions=True).attentions
    mean = torch.stack([layer[0].float() for layer in expected]).mean((0, 1))  # [num_tokens, num_tokens]
    first, starts = 21, (0, 1, 5, 19, 30)
    event = sum_up(msgspec.structs.replace(REQUEST, kind="sources", first=first, starts=starts), model)
    ranges = zip(starts, (*starts[1:], len(IDS)), strict=True)
    rows = torch.stack([mean[first:, start:end].sum(1) for start, end in ranges], 1)
    shares = torch.tensor(np.frombuffer(event.shares, "<f4").reshape(len(IDS) - first, len(starts)))
    torch.testing.assert_close(shares, rows, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(shares.sum(1), torch.ones(len(IDS) - first))
    assert decode_probe(encode_probe(event)) == event


def test_sums_are_the_same_after_another_look(checkpoint: Checkpoint) -> None:
    ids = IDS * 3  # more than a part that is computed at once
    wide = ProbedModel(SafetensorsFolder(checkpoint.folder), max_tokens=128)
    whole = wide.sum_attention(ids, 2, (0, 1, 50))
    torch.testing.assert_close(wide.sum_attention(ids, 90, (0, 1, 50)), whole[88:], atol=2e-4, rtol=1e-3)


@torch.inference_mode()
def test_lens_equals_transformers(checkpoint: Checkpoint, model: ProbedModel) -> None:
    output = checkpoint.model(torch.tensor([IDS]), output_hidden_states=True)
    head, norm = checkpoint.model.get_output_embeddings(), checkpoint.model.model.norm
    # transformers has normed the last one already.
    logits = [head(norm(state[0, -1])) for state in output.hidden_states[1:-1]]
    if cap := checkpoint.model.config.get_text_config().__dict__.get("final_logit_softcapping"):
        logits = [(row / cap).tanh() * cap for row in logits]
    expected = torch.stack([*logits, output.logits[0, -1]]).log_softmax(-1).exp()
    event = lens(REQUEST, model, label)
    assert len(event.layers) == len(expected)
    for layer, row in zip(event.layers, expected, strict=True):
        torch.testing.assert_close(torch.tensor(layer.probabilities), row.topk(5).values, atol=1e-5, rtol=1e-3)
        assert layer.pieces == tuple(label(token) for token in layer.ids)
        assert layer.next_probability == pytest.approx(float(row[NEXT]), rel=1e-3)
        assert layer.next_rank == int((row > row[NEXT]).sum()) + 1
    assert decode_probe(encode_probe(event)) == event


def test_a_look_at_the_next_token_takes_over_what_was_computed(checkpoint: Checkpoint) -> None:
    fresh = ProbedModel(SafetensorsFolder(checkpoint.folder), max_tokens=48)
    walked = ProbedModel(SafetensorsFolder(checkpoint.folder), max_tokens=48)
    for ids in (IDS[:20], IDS[:35], IDS[:12], [*IDS[:10], 5, 6], IDS, IDS):
        torch.testing.assert_close(walked.observe(ids).residuals, fresh.observe(ids).residuals, atol=2e-4, rtol=1e-4)
        fresh = ProbedModel(SafetensorsFolder(checkpoint.folder), max_tokens=48)


def test_neighbours_are_the_nearest_by_cosine(checkpoint: Checkpoint, model: ProbedModel) -> None:
    table = checkpoint.model.get_input_embeddings().weight.detach().numpy()
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosines = unit @ unit[IDS[-1]]
    expected = [int(token) for token in np.argsort(-cosines) if token != IDS[-1]][:12]
    event = compare(REQUEST, model, label)
    assert [each.id for each in event.neighbours] == expected
    assert [each.cosine for each in event.neighbours] == pytest.approx(cosines[expected], abs=1e-5)


def test_memory_counts_blocks_and_what_grouping_saves(model: ProbedModel) -> None:
    event = measure(REQUEST, model.config)
    config = model.config
    assert event.num_blocks == 3
    assert event.num_bytes == 3 * 16 * config.num_layers * config.num_kv_heads * config.head_dim * 2 * 2
    assert event.num_bytes_ungrouped == 3 * 16 * config.num_layers * config.num_heads * config.head_dim * 2 * 2


NAME = "smollm2"


@pytest.fixture(scope="module")
def real(tokenizer: Tokenizer, model_path: Path) -> ProbeRequest:
    """A question of the bundled model, as a trace tells of it."""
    config = GgufFile(model_path).config
    return msgspec.structs.replace(
        REQUEST,
        ids=tuple(tokenizer.encode("The capital of France is")),
        next_id=tokenizer.encode(" Paris")[0],
        tokenizer_version=tokenizer.version,
        model=NAME,
        architecture=config.architecture,
        quantization=config.quantization,
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tokenizer_version": "another"}, "other_model"),
        ({"model": "another"}, "other_model"),
        ({"architecture": "qwen2"}, "other_model"),
        ({"quantization": "F16"}, "other_model"),
        ({"ids": (1, -1)}, "invalid_ids"),
        ({"next_id": 10**6}, "invalid_ids"),
        ({"ids": ()}, "invalid_ids"),
        ({"ids": (1,) * (MAX_PROBE_TOKENS + 1)}, "invalid_ids"),
    ],
)
def test_what_this_model_did_not_compute_is_refused_before_it_is_loaded(
    real: ProbeRequest, model_path: Path, change: dict[str, object], code: str
) -> None:
    laboratory = Laboratory(model_path, NAME)
    with pytest.raises(ProbeError) as error:
        laboratory.probe(msgspec.structs.replace(real, **change))
    assert error.value.code == code
    assert laboratory.is_freed.is_set()


def test_memory_is_counted_at_any_length(real: ProbeRequest, model_path: Path) -> None:
    laboratory = Laboratory(model_path, NAME)
    far = msgspec.structs.replace(real, kind="memory", ids=(1,) * (MAX_PROBE_TOKENS + 1))
    assert laboratory.probe(far).position == MAX_PROBE_TOKENS
    assert laboratory.is_freed.is_set()


def test_a_users_look_takes_nothing_from_what_another_one_computed(
    real: ProbeRequest, model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[None] = []
    forget = ProbedModel.forget

    def counted(model: ProbedModel) -> None:
        forgotten.append(None)
        forget(model)

    monkeypatch.setattr(ProbedModel, "forget", counted)
    laboratory = Laboratory(model_path, NAME)
    counts = []
    for principal in ("user:1", "user:1", "user:2", "user:1"):
        laboratory.probe(msgspec.structs.replace(real, principal=principal))
        counts.append(len(forgotten))
    assert counts == [1, 1, 2, 3]


def test_a_model_that_cannot_be_read_is_said(real: ProbeRequest, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match=r"gone\.gguf"):
        Laboratory(tmp_path / "gone.gguf", NAME).probe(real)


@pytest.mark.slow
def test_the_bundled_model_knows_the_capital_and_is_freed_when_idle(real: ProbeRequest, model_path: Path) -> None:
    laboratory = Laboratory(model_path, NAME, idle_s=0.2)
    kinds: list[ProbeKind] = ["lens", "memory"]
    looked, _ = [laboratory.probe(msgspec.structs.replace(real, kind=kind)) for kind in kinds]
    assert looked.layers[-1].pieces[0] == b" Paris"  # type: ignore[union-attr]
    assert laboratory.is_freed.wait(30)
