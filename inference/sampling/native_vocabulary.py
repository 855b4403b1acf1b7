"""vocabulary.summarise on the kernels. Knows nothing of what the summaries are for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inference.kernels.library import Kernels
from inference.sampling.vocabulary import Summarise, Summary, first_candidates

_MOST_SORTED = 512
"""With more than about one in a hundred tokens the kernels sort the whole row; numpy finds so many sooner."""


def native_summarise(kernels: Kernels) -> Summarise:
    """See vocabulary.Summarise."""

    def summarise(logits: NDArray[np.float32], temperatures: Sequence[float], num_sorted: int) -> list[Summary]:
        found = kernels.summarise(np.ascontiguousarray(logits), temperatures, min(num_sorted, _MOST_SORTED))
        summaries = [
            Summary(bool(is_finite), num_candidates, ids[:num_found], firsts[:num_found], *measures)
            for (is_finite, num_candidates, num_found, _, *measures), ids, firsts in zip(
                found.rows.tolist(), found.ids, found.logits, strict=True
            )
        ]
        if num_sorted <= _MOST_SORTED:
            return summaries
        return [_with_more(summary, row, num_sorted) for summary, row in zip(summaries, logits, strict=True)]

    return summarise


def _with_more(summary: Summary, row: NDArray[np.float32], num_sorted: int) -> Summary:
    if summary.num_candidates <= len(summary.ids):
        return summary
    ids = first_candidates(row, min(num_sorted, summary.num_candidates))
    return summary._replace(ids=ids, logits=row[ids])
