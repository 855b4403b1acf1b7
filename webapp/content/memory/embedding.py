"""Vectors of memories and questions, by the model that the process has already. Knows nothing of rows."""

from __future__ import annotations

import numpy as np

from inference.safety.minilm import LONGEST, Floats
from webapp.requests.services import minilm

_MOST_CHARS = 4000
"""The model reads LONGEST tokens, so the rest of a longer text changes nothing."""


def vector_of(text: str) -> Floats:
    """Return the text's unit vector, [384] float32; only its first LONGEST tokens count. Raises SafetyModelError."""
    model = minilm()
    ids = model.ids(text[:_MOST_CHARS])
    if len(ids) > LONGEST:
        ids = [*ids[: LONGEST - 1], ids[-1]]
    found: Floats = model.embed_ids([ids])[0]
    return found


def packed(vector: Floats) -> bytes:
    """The vector as a row keeps it."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()
