"""Runs the decoder over a scheduled step and owns the sequences' blocks. Knows nothing of sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference.engine.scheduler import Scheduled
from inference.engine.sequence import Sequence
from inference.models.config import ModelConfig
from inference.models.decoder import Chunk, Decoder
from inference.models.kv_cache import BLOCK_SIZE

_NUM_WINDOWS = 16
"""Whole windows that the cache holds: as many as the scheduler lets run, so that blocks cannot run out."""


class ModelRunner:
    """One decoder, one cache, and the blocks of each running sequence."""

    def __init__(self, decoder: Decoder[Any]) -> None:
        self._decoder = decoder
        self._kv = decoder.build_cache(_NUM_WINDOWS * -(-decoder.config.context_length // BLOCK_SIZE))
        self._free = list(reversed(range(self._kv.num_blocks)))
        self._tables: dict[str, list[int]] = {}
        self.compute = decoder.compute

    @property
    def config(self) -> ModelConfig:
        return self._decoder.config

    def run(self, step: list[Scheduled]) -> list[NDArray[np.float32] | None]:
        """Compute every share; returns each sequence's logits, [vocab_size] float32, None where its prompt goes on."""
        chunks = [self._chunk(share) for share in step]
        rows = iter(self._decoder.forward(chunks, self._kv))
        return [next(rows) if chunk.num_logits else None for chunk in chunks]

    def _chunk(self, share: Scheduled) -> Chunk:
        sequence = share.sequence
        start, end = sequence.num_computed_tokens, sequence.num_computed_tokens + share.num_tokens
        table = self._tables.setdefault(sequence.request.request_id, [])
        while len(table) * BLOCK_SIZE < end:
            table.append(self._free.pop())
        ids = sequence.next_ids[: share.num_tokens]
        return Chunk(ids, start, table, num_logits=int(end >= sequence.num_prompt_tokens))

    def release(self, sequence: Sequence) -> None:
        """Free the sequence's blocks."""
        self._free += reversed(self._tables.pop(sequence.request.request_id, []))
