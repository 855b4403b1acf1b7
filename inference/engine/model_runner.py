"""Runs the decoder over a scheduled step and owns the sequences' caches. Knows nothing of sampling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inference.engine.scheduler import Scheduled
from inference.engine.sequence import Sequence
from inference.models.config import ModelConfig
from inference.models.decoder import Chunk, Decoder
from inference.models.kv_cache import SequenceKV

_FIRST_CAPACITY = 512


class ModelRunner:
    """One decoder and a key/value cache per running sequence."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._caches: dict[str, SequenceKV] = {}
        self.compute = decoder.compute

    @property
    def config(self) -> ModelConfig:
        return self._decoder.config

    def run(self, step: list[Scheduled]) -> list[NDArray[np.float32]]:
        """Compute every share; returns each sequence's logits after its last token, [vocab_size] float32."""
        chunks = [self._chunk(share) for share in step]
        return list(self._decoder.forward(chunks).numpy())

    def _chunk(self, share: Scheduled) -> Chunk:
        sequence = share.sequence
        cache = self._caches.get(sequence.request.request_id)
        if cache is None:
            capacity = max(_FIRST_CAPACITY, sequence.num_prompt_tokens)
            cache = self._caches[sequence.request.request_id] = SequenceKV(self.config, capacity)
        return Chunk(sequence.next_ids[: share.num_tokens], cache)

    def release(self, sequence: Sequence) -> None:
        """Free the sequence's cache."""
        self._caches.pop(sequence.request.request_id, None)
