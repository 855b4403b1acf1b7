"""Sentence vectors kept for a while: a system prompt comes with every request, and answers begin alike.

No text is kept, only digests under the principal's name: a check's duration must not reveal another principal's text.
A vector still reveals some of its text (arXiv 2310.06816), so none is kept for long.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from inference.safety.minilm import MiniLM

_CAPACITY = 1024
"""Vectors of 384 float32: 1.5 MB."""
_KEPT_S = 600
"""Seconds that a vector is kept after its last use."""

Floats = NDArray[np.float32]


class RecentVectors:
    """MiniLM.embed with a memory of ten minutes; the least recently used is forgotten first. Safe between threads."""

    def __init__(self, model: MiniLM, capacity: int = _CAPACITY, now: Callable[[], float] = time.monotonic) -> None:
        """now: returns seconds, never decreasing."""
        self._model = model
        self._capacity = capacity
        self._now = now
        self._lock = threading.Lock()
        self._vectors: OrderedDict[bytes, tuple[Floats, float]] = OrderedDict()
        """Each vector with the time of its last use; ordered by that time."""

    @property
    def num_vectors(self) -> int:
        """Return the number of vectors kept."""
        return len(self._vectors)

    def embed(self, texts: Sequence[str], principal: str) -> Floats:
        """Return unit vectors, [num_texts, 384] float32: those of MiniLM.embed, whose rows depend on no other row."""
        keys = [_digest(text, principal) for text in texts]
        found = self._find(keys)
        if missing := [index for index, vector in enumerate(found) if vector is None]:
            for index, vector in zip(missing, self._model.embed([texts[index] for index in missing]), strict=True):
                found[index] = vector
        vectors: Floats = np.stack([vector for vector in found if vector is not None])
        self._keep(keys, vectors)
        return vectors

    def _find(self, keys: list[bytes]) -> list[Floats | None]:
        with self._lock:
            self._forget()
            return [self._vectors[key][0] if key in self._vectors else None for key in keys]

    def _keep(self, keys: list[bytes], vectors: Floats) -> None:
        with self._lock:
            now = self._now()
            for key, vector in zip(keys, vectors, strict=True):
                self._vectors[key] = vector.copy(), now  # a view of one row would keep the whole pack in memory
                self._vectors.move_to_end(key)
            self._forget()

    def _forget(self) -> None:
        oldest = self._now() - _KEPT_S
        while self._vectors and (len(self._vectors) > self._capacity or next(iter(self._vectors.values()))[1] < oldest):
            self._vectors.popitem(last=False)


def _digest(text: str, principal: str) -> bytes:
    key = hashlib.sha256(principal.encode()).digest()
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32, key=key).digest()
