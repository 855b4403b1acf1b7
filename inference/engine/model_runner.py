"""Runs the decoder over a scheduled step and owns the key/value cache. Knows nothing of sampling or sharing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.engine.scheduling.block_manager import DEFAULT_KV_BYTES, BlockCopy
from inference.engine.scheduling.step import Scheduled
from inference.models.blocks import BLOCK_SIZE, block_bytes
from inference.models.config import ModelConfig
from inference.models.decoder import Chunk, Decoder


class ModelRunner:
    """One decoder and one key/value cache."""

    block_size = BLOCK_SIZE

    def __init__(self, decoder: Decoder[Any], kv_bytes: int = DEFAULT_KV_BYTES) -> None:
        self._decoder = decoder
        self._kv = decoder.build_cache(max(1, kv_bytes // block_bytes(decoder.config)))
        self.num_blocks = self._kv.num_blocks
        self.compute = decoder.compute
        self.device = decoder.device
        self.is_batch_invariant = decoder.is_batch_invariant

    @property
    def config(self) -> ModelConfig:
        return self._decoder.config

    def copy(self, copies: Sequence[BlockCopy]) -> None:
        """Copy whole blocks, in order."""
        for copy in copies:
            self._kv.copy_block(copy.source, copy.target)

    def run(self, shares: Sequence[Scheduled]) -> NDArray[np.float32]:
        """Compute every share; returns logits, [sum of num_logits, vocab_size], in the shares' order."""
        return self._decoder.forward([_chunk(share) for share in shares], self._kv)

    def wait(self) -> None:
        """See Decoder.wait."""
        self._decoder.wait()


def _chunk(share: Scheduled) -> Chunk:
    sequence = share.sequence
    start = sequence.num_computed_tokens
    ids = sequence.ids[start : start + share.num_tokens]
    is_prompt = sequence.num_unread_tokens > 0
    return Chunk([*ids, *share.drafts], start, sequence.block_table, share.num_logits, is_prompt)
