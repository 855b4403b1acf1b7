"""Every weight format on a tiny model, against llama.cpp's own logits; and files that must be refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.llama_server import LlamaServer
from inference.models.decoder import Chunk, Decoder, load_decoder
from inference.models.decoders.kv_cache import KVCache
from inference.models.sources.gguf_file import GgufFile, ModelFileError
from tests.inference.models.tiny_gguf import HIDDEN, VOCAB, WIDE, tensors, write_tiny

PROMPT = [*b"the quick brown fox jumps"]
MEAN_TOLERANCE, WORST_TOLERANCE = 0.06, 0.4
"""Nats between our log-probabilities (bfloat16, int4 and int8 products) and llama.cpp's (float32 products for F32 and
F16, 8-bit activations for Q8_0 and Q4_1). Measured: mean 0.01 to 0.03, worst 0.18."""


def peer_logprobs(path: Path, ids: list[int]) -> torch.Tensor:
    """llama.cpp's log-probabilities after the prompt, [vocab_size]."""
    with LlamaServer(path, 1) as peer:
        (token,) = peer.complete(ids, 1, VOCAB).reply["completion_probabilities"]
    result = torch.full((VOCAB,), float("nan"))
    for candidate in token["top_logprobs"]:
        result[candidate["id"]] = candidate["logprob"]
    return result


def our_logprobs(decoder: Decoder, ids: list[int], num_prefilled: int) -> torch.Tensor:
    kv, table = KVCache(decoder.config, 4), [1, 3, 0]
    logits = decoder.forward([Chunk(ids[:num_prefilled], 0, table)], kv)
    for start in range(num_prefilled, len(ids)):
        logits = decoder.forward([Chunk([ids[start]], start, table)], kv)
    return torch.tensor(logits)[0].log_softmax(-1)


@pytest.mark.parametrize("quantization", ["F32", "F16", "Q8_0", "Q4_1"])
def test_each_format_agrees_with_llama_cpp(tmp_path: Path, quantization: str) -> None:
    path = write_tiny(tmp_path / "tiny.gguf", quantization)
    decoder = load_decoder(GgufFile(path))
    expected = peer_logprobs(path, PROMPT)
    assert decoder.config.quantization == quantization
    for num_prefilled in (len(PROMPT), 17, 1):
        actual = our_logprobs(decoder, PROMPT, num_prefilled)
        difference = (actual - expected).abs()
        assert difference.mean() < MEAN_TOLERANCE
        assert difference.max() < WORST_TOLERANCE


@pytest.mark.parametrize("quantization", ["F32", "F16", "BF16"])
def test_weights_of_16_bits_or_more_are_not_brought_to_8(tmp_path: Path, quantization: str) -> None:
    decoder = load_decoder(GgufFile(write_tiny(tmp_path / "tiny.gguf", quantization)))
    assert decoder.compute.startswith(("decode: bfloat16", "decode: float32"))


def test_a_file_of_several_formats_names_every_way_in_which_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = GgufFile.format
    monkeypatch.setattr(GgufFile, "format", lambda file, name: "Q8_0" if "attn_v" in name else named(file, name))
    decoder = load_decoder(GgufFile(write_tiny(tmp_path / "tiny.gguf", "Q4_1")))
    assert re.match("decode: (bfloat16|float32) and int4 in groups of 32, prefill: ", decoder.compute)


def test_two_sequences_of_a_batch_do_not_touch_each_other(tmp_path: Path) -> None:
    decoder = load_decoder(GgufFile(write_tiny(tmp_path / "tiny.gguf")))
    prompts = [PROMPT, PROMPT[:5], PROMPT[3:20]]
    alone = [our_logprobs(decoder, prompt, 1) for prompt in prompts]
    kv, tables = KVCache(decoder.config, 6), [[5, 0], [3], [1, 2]]
    together: list[torch.Tensor] = [torch.empty(0)] * len(prompts)
    for position in range(max(map(len, prompts))):
        rows = [row for row, prompt in enumerate(prompts) if position < len(prompt)]
        logits = decoder.forward([Chunk([prompts[row][position]], position, tables[row]) for row in rows], kv)
        for row, each in zip(rows, torch.tensor(logits), strict=True):
            together[row] = each.log_softmax(-1)
    for actual, expected in zip(together, alone, strict=True):
        assert torch.allclose(actual, expected, atol=WORST_TOLERANCE)
        assert actual.argmax() == expected.argmax()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"attention.head_count": 0}, "dimension out of"),
        ({"attention.head_count_kv": 0}, "key/value heads"),
        ({"attention.head_count_kv": 3}, "evenly"),
        ({"attention.head_count": "four"}, "must be a number"),
        ({"block_count": 4_000_000_000}, "4000000000 layers"),
        ({"block_count": 3}, r"blk\.2\.\S+ is missing"),
        ({"context_length": 4_000_000_000}, "dimension out of"),
        ({"context_length": None}, "no llama.context_length"),
        ({"embedding_length": HIDDEN * 2}, "has shape"),
        ({"attention.layer_norm_rms_epsilon": 0.0}, "epsilon"),
        ({"rope.freq_base": float("nan")}, "rope base"),
        ({"rope.scaling.type": "yarn"}, "rope.scaling.type = yarn is not supported"),
        ({"expert_count": 8}, "expert_count = 8 is not supported"),
        ({"attention.key_length": 64}, "has shape"),
        ({"attention.value_length": 64}, "value_length = 64 is not supported"),
        ({"rope.scaling.type": "linear", "rope.scaling.factor": -1.0}, "divisor"),
        ({"attn_logit_softcapping": float("inf")}, "soft cap"),
    ],
)
def test_a_header_that_no_decoder_can_have_is_named(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    path = write_tiny(tmp_path / "tiny.gguf", fields=fields)
    with pytest.raises(ModelFileError, match=words):
        GgufFile(path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"blk.1.ffn_up.weight": None}, "blk.1.ffn_up.weight is missing"),
        ({"blk.0.ffn_down.weight": np.zeros((HIDDEN, WIDE // 2), np.float32)}, "ffn_down.weight has shape"),
        ({"blk.0.attn_q.bias": np.zeros(HIDDEN, np.float32)}, "attn_q.bias belongs to a variant"),
        ({"blk.0.attn_norm.weight": np.full(HIDDEN, np.nan, np.float32)}, "NaN or infinity"),
    ],
)
def test_tensors_that_do_not_fit_are_named(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    path = write_tiny(tmp_path / "tiny.gguf", changes=changes)
    with pytest.raises(ModelFileError, match=words):
        load_decoder(GgufFile(path))


def test_unsupported_formats_and_architectures_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        ModelFileError, match=r"is Q5_1, which is not supported; use one of: F32, F16, BF16, Q8_0, Q4_0"
    ):
        GgufFile(write_tiny(tmp_path / "format.gguf", "Q5_1"))
    with pytest.raises(ModelFileError, match="architecture mamba is not supported; use one of: llama, qwen2"):
        GgufFile(write_tiny(tmp_path / "architecture.gguf", architecture="mamba"))


def test_a_separate_output_matrix_is_used(tmp_path: Path) -> None:
    embedding = tensors()["token_embd.weight"]
    path = write_tiny(tmp_path / "untied.gguf", changes={"output.weight": np.roll(embedding, 1, axis=0)})
    tied = load_decoder(GgufFile(write_tiny(tmp_path / "tied.gguf")))
    expected = our_logprobs(tied, PROMPT, 5).roll(1)
    assert torch.allclose(our_logprobs(load_decoder(GgufFile(path)), PROMPT, 5), expected, atol=0.01)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, share: float) -> None:
    path = write_tiny(tmp_path / "tiny.gguf")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ModelFileError, match=r"tiny\.gguf"):
        load_decoder(GgufFile(path))
