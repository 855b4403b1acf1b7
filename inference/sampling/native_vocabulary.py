"""vocabulary.summarise on the kernels. Knows nothing of what the summaries are for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inference.kernels.library import Kernels
from inference.sampling.vocabulary import Summarise, Summary


def native_summarise(kernels: Kernels) -> Summarise:
    """See vocabulary.Summarise."""

    def summarise(logits: NDArray[np.float32], temperatures: Sequence[float], num_sorted: int) -> list[Summary]:
        found = kernels.summarise(np.ascontiguousarray(logits), temperatures, num_sorted)
        return [
            Summary(bool(is_finite), num_candidates, ids[:num_found], firsts[:num_found], *measures)
            for (is_finite, num_candidates, num_found, _, *measures), ids, firsts in zip(
                found.rows.tolist(), found.ids, found.logits, strict=True
            )
        ]

    return summarise
