"""Every family against transformers, from the folder that transformers wrote and from the same weights as GGUF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from inference.models.decoder import Chunk, Decoder, load_decoder
from inference.models.decoders.paged_decoder import load_paged
from inference.models.sources.gguf_file import GgufFile
from inference.models.sources.safetensors_folder import SafetensorsFolder
from tests.inference.models.checkpoints import FAMILIES, VOCAB, Checkpoint, write_checkpoint, write_gguf

IDS = [int(token) for token in np.random.default_rng(3).integers(VOCAB, size=90)]
TOLERANCE = {torch.float32: 2e-5, torch.float16: 0.008, torch.bfloat16: 0.05}
"""Largest difference of a logit, as a share of the largest logit. Measured on llama, llama3, qwen2, qwen3, gemma2 and
gemma3: float16 0.0052, 0.0056, 0.0034, 0.0019, 0.0012, 0.0010; bfloat16 0.036, 0.036, 0.027, 0.017, 0.009, 0.009."""


@pytest.fixture(scope="module", params=FAMILIES)
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint") / request.param, request.param)


@pytest.fixture(scope="module")
def expected(checkpoint: Checkpoint) -> np.ndarray:
    return checkpoint.logits(IDS)


def run(decoder: Decoder) -> np.ndarray:
    """Logits after every token: a prompt, a second chunk of it, then token by token; the blocks lie out of order."""
    kv, table = decoder.build_cache(8), [5, 1, 7, 0, 2, 6]
    rows = [decoder.forward([Chunk(IDS[:33], 0, table, 33)], kv).copy()]
    rows += [decoder.forward([Chunk(IDS[33:70], 33, table, 37)], kv).copy()]
    rows += [decoder.forward([Chunk([IDS[n]], n, table)], kv).copy() for n in range(70, len(IDS))]
    return np.concatenate(rows)


def error(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_logits_from_a_folder_equal_transformers(
    checkpoint: Checkpoint, expected: np.ndarray, dtype: torch.dtype
) -> None:
    decoder = load_decoder(SafetensorsFolder(checkpoint.folder), dtype=dtype)
    assert error(run(decoder), expected) < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_logits_over_gathered_blocks_equal_transformers(
    checkpoint: Checkpoint, expected: np.ndarray, dtype: torch.dtype
) -> None:
    decoder = load_paged(SafetensorsFolder(checkpoint.folder), torch.device("cpu"), dtype=dtype)
    assert error(run(decoder), expected) < TOLERANCE[dtype]


def test_logits_from_gguf_equal_transformers(checkpoint: Checkpoint, expected: np.ndarray, tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "model.gguf", SafetensorsFolder(checkpoint.folder))
    decoder = load_decoder(GgufFile(path), dtype=torch.float32)
    assert error(run(decoder), expected) < TOLERANCE[torch.float32]
