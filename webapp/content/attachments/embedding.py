"""Embeddings of passages and messages by the sentence encoder that the safety classifier has loaded.

Two threads of a process compute, a few passages at a time: so many files take turns, and the engine keeps its cores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from inference.safety.minilm import LONGEST, NUM_DIMENSIONS, Floats
from webapp.models.registry.offered import EMBEDDING_MODEL
from webapp.requests import services

MODEL = EMBEDDING_MODEL
_NUM_THREADS = 2
_AT_ONCE = 8
"""Passages that a thread computes before another file has its turn."""


def embedded(texts: Sequence[str]) -> Iterator[Floats]:
    """Yield the unit vectors of a few texts after the other, in order. Raises PolicyError, SafetyModelError."""
    few = [texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE)]
    waiting = []
    for each in few:
        waiting.append(_pool().submit(_vectors, each))
        if len(waiting) > _NUM_THREADS:  # one more waits, so that no thread is idle
            yield waiting.pop(0).result()
    yield from (each.result() for each in waiting)


def embedded_message(text: str) -> Floats:
    """The unit vector of a message, as far as the encoder reads it."""
    vector: Floats = _vectors([text])[0]
    return vector


def as_vectors(rows: Sequence[bytes]) -> Floats:
    """The vectors of saved passages, [num_passages, 384]."""
    return np.frombuffer(b"".join(rows), np.float32).reshape(-1, NUM_DIMENSIONS)


def counts(texts: Sequence[str]) -> list[int]:
    """Tokens of the encoder in each text."""
    return services.minilm().counts(texts)


def _vectors(texts: Sequence[str]) -> Floats:
    encoder = services.minilm()
    return encoder.embed_ids([_cut(encoder.ids(text)) for text in texts])


def _cut(ids: list[int]) -> list[int]:
    return ids if len(ids) <= LONGEST else [*ids[: LONGEST - 1], ids[-1]]


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_NUM_THREADS, "passages")
