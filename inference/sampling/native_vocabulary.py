"""vocabulary.summarise on the kernels. Knows nothing of the summaries' use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inference.kernels.library import Kernels
from inference.sampling.vocabulary import Summarise, Summary, first_candidates

_TOKENS_PER_SORTED = 96
"""The kernels sort at most one in 96 tokens. Beyond one in 64 they sort the whole row, and before that much of it (see
vocabulary.h); numpy is faster for so many: 30,000 of 150,000 in 4 ms against 34 ms."""
_FEWEST_SORTED = 128
"""The kernels may always sort this many: a vocabulary of which they are a large share is quick to sort."""


def native_summarise(kernels: Kernels) -> Summarise:
    """See vocabulary.Summarise."""

    def summarise(logits: NDArray[np.float32], temperatures: Sequence[float], num_sorted: int) -> list[Summary]:
        most_sorted = max(_FEWEST_SORTED, logits.shape[1] // _TOKENS_PER_SORTED)
        found = kernels.summarise(np.ascontiguousarray(logits), temperatures, min(num_sorted, most_sorted))
        summaries = [
            Summary(bool(is_finite), num_candidates, ids[:num_found], firsts[:num_found], *measures)
            for (is_finite, num_candidates, num_found, _, *measures), ids, firsts in zip(
                found.rows.tolist(), found.ids, found.logits, strict=True
            )
        ]
        if num_sorted <= most_sorted:
            return summaries
        return [_with_more(summary, row, num_sorted) for summary, row in zip(summaries, logits, strict=True)]

    return summarise


def _with_more(summary: Summary, row: NDArray[np.float32], num_sorted: int) -> Summary:
    if summary.num_candidates <= len(summary.ids):
        return summary
    ids = first_candidates(row, min(num_sorted, summary.num_candidates))
    return summary._replace(ids=ids, logits=row[ids])
