"""Blocks: where they lie changes nothing, they can be shared for reading, and a copy is a copy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from inference.models.blocks import BLOCK_SIZE, block_bytes
from inference.models.decoder import Chunk, Decoder, load_decoder
from inference.models.decoders.kv_cache import KVCache
from inference.models.sources.gguf_file import GgufFile
from tests.inference.models.tiny_gguf import write_tiny

IDS = [*b"a keeper counted forty-two ships that night, and wrote"]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    return load_decoder(GgufFile(write_tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf")))


@pytest.fixture(scope="module")
def expected(decoder: Decoder) -> NDArray[np.float32]:
    """Logits after every token, computed at once."""
    return decoder.forward([Chunk(IDS, 0, [0, 1, 2, 3], len(IDS))], KVCache(decoder.config, 4))


@pytest.mark.slow
@given(st.permutations(range(6)), st.lists(st.integers(1, 20), min_size=1))
def test_any_blocks_and_any_chunks_give_the_same_logits(
    decoder: Decoder, expected: NDArray[np.float32], blocks: list[int], sizes: list[int]
) -> None:
    kv, start = KVCache(decoder.config, 6), 0
    while start < len(IDS):
        ids = IDS[start : start + sizes[start % len(sizes)]]
        rows = decoder.forward([Chunk(ids, start, blocks[:4], len(ids))], kv)
        # Few rows multiply in int8, many in bfloat16: a wrong block would be off by whole units.
        assert np.abs(rows - expected[start : start + len(ids)]).mean() < 0.1
        start += len(ids)


def test_logits_come_only_where_they_are_asked_for(decoder: Decoder, expected: NDArray[np.float32]) -> None:
    kv = KVCache(decoder.config, 4)
    none = decoder.forward([Chunk(IDS[:20], 0, [0, 1], 0)], kv)
    assert none.shape == (0, decoder.config.vocab_size)
    chunks = [Chunk(IDS[20:28], 20, [0, 1], 3), Chunk(IDS[:9], 0, [2], 0), Chunk(IDS[:4], 0, [3], 1)]
    rows = decoder.forward(chunks, kv)
    assert np.abs(rows - expected[[25, 26, 27, 3]]).mean() < 0.1


def test_two_sequences_read_the_same_blocks_and_a_fork_writes_to_its_copy(
    decoder: Decoder, expected: NDArray[np.float32]
) -> None:
    kv = KVCache(decoder.config, 5)
    decoder.forward([Chunk(IDS[:24], 0, [4, 2], 0)], kv)  # the second block is half full
    kv.copy_block(2, 0)
    rows = decoder.forward([Chunk(IDS[24:40], 24, [4, 2, 1]), Chunk([*b"elsewhere"], 24, [4, 0, 3])], kv)
    assert np.abs(rows[0] - expected[39]).mean() < 0.1
    assert np.abs(rows[1] - expected[32]).mean() > 0.5


def test_block_bytes_is_what_a_block_takes(decoder: Decoder) -> None:
    kv = KVCache(decoder.config, 7)
    assert 7 * block_bytes(decoder.config) == kv.keys.nbytes + kv.values.nbytes
    assert kv.keys.shape[3] == BLOCK_SIZE
