"""All passes over whole rows of logits: one call summarises a step's rows for the sampler.

Knows nothing of parameters but the temperature. This is the portable form; a native one may take its place as long as
it keeps Summarise's contract. Sums are taken in float32 by fixed groups, row by row, on one thread: a row gives the
same bits alone and among others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_NUM_GROUPS_PER_CANDIDATE = 6
"""Groups whose maxima bound the first candidates from below. More groups admit fewer other tokens, but cost more."""
_NUM_SUMS = 768
"""Number of partial sums, of 64 terms each in a vocabulary of 49,152. Sums so short are exact enough in float32."""
_FAR_BELOW = -1e30
"""Takes the place of a quotient that would overflow. Its weight is 0, so its product with the weight is 0, too."""

Row = NDArray[np.float32]


class Summary(NamedTuple):
    """One row of logits as the sampler sees it; a logit of minus infinity is a removed token."""

    is_finite: bool
    """True when all logits are finite. With NaN or plus infinity no other field is valid."""
    num_candidates: int
    """Number of tokens that are not removed."""
    ids: NDArray[np.int32]
    """The first candidates, [num_sorted] or as many as there are: logits descending, ties by id."""
    logits: Row
    """Their logits, the same shape."""
    log_normalizer: float
    """log-sum-exp of the row."""
    entropy: float
    """Entropy of the row's softmax, in nats."""
    scaled_log_normalizer: float
    """log-sum-exp of the row divided by the temperature."""
    scaled_entropy: float
    """Entropy of the softmax of the row divided by the temperature, in nats."""


Summarise = Callable[[NDArray[np.float32], Sequence[float], int], list[Summary]]
"""(logits [num_rows, vocab_size], a temperature > 0 per row, num_sorted) -> one Summary per row.

Each result depends on its own row and temperature alone. num_sorted changes only the length of ids and logits.
"""


def summarise(logits: NDArray[np.float32], temperatures: Sequence[float], num_sorted: int) -> list[Summary]:
    """Summarise each row; see Summarise."""
    with np.errstate(invalid="ignore", over="ignore"):  # of rows that are not finite
        return [_summary(row, temperature, num_sorted) for row, temperature in zip(logits, temperatures, strict=True)]


def log_sum_exp(logits: Row) -> float:
    """Return the log-sum-exp of one row, in which some but not all logits may be minus infinity."""
    top = logits.max()
    return float(top) + float(np.log(_total(np.exp(logits - top))))


def rank(logits: Row, token: int) -> int:
    """Return the token's rank by logit, from 1; equals share the best rank among them."""
    return 1 + int(np.count_nonzero(logits > logits[token]))


def first_candidates(row: Row, count: int) -> NDArray[np.int32]:
    """Return the ids of the `count` greatest logits, descending, ties by id."""
    ids = np.flatnonzero(row >= _lower_bound(row, count))
    order = np.argsort(-row[ids], kind="stable")[:count]
    return ids[order].astype(np.int32)


def _summary(row: Row, temperature: float, num_sorted: int) -> Summary:
    top, lowest = row.max(), row.min()
    if not np.isfinite(top):
        return Summary(False, 0, np.empty(0, np.int32), row[:0], np.nan, np.nan, np.nan, np.nan)
    if np.isfinite(lowest):
        return _summary_of_finite(row, float(top), float(lowest), temperature, num_sorted)
    allowed = np.flatnonzero(row > -np.inf).astype(np.int32)
    row = row[allowed]
    summary = _summary_of_finite(row, float(top), float(row.min()), temperature, num_sorted)
    return summary._replace(is_finite=False, ids=allowed[summary.ids])


def _summary_of_finite(row: Row, top: float, lowest: float, temperature: float, num_sorted: int) -> Summary:
    shifted = row - np.float32(top)
    log_normalizer, entropy = _log_normalizer_and_entropy(shifted)
    scaled_log_normalizer, scaled_entropy = log_normalizer, entropy
    if temperature != 1:
        # The maximum is subtracted first: float32 has no digits left for large quotients.
        if (lowest - top) / temperature < _FAR_BELOW:
            np.maximum(shifted, _FAR_BELOW * temperature, out=shifted)
        np.multiply(shifted, np.float32(1 / temperature), out=shifted)
        scaled_log_normalizer, scaled_entropy = _log_normalizer_and_entropy(shifted)
    ids = first_candidates(row, num_sorted)
    return Summary(
        True,
        len(row),
        ids,
        row[ids],
        top + log_normalizer,
        entropy,
        top / temperature + scaled_log_normalizer,
        scaled_entropy,
    )


def _log_normalizer_and_entropy(shifted: Row) -> tuple[float, float]:
    """Return the log-sum-exp and the entropy of a row whose maximum is 0."""
    weights = np.exp(shifted)
    total = _total(weights)
    log_total = float(np.log(total))
    np.multiply(weights, shifted, out=weights)
    return log_total, log_total - _total(weights) / total


def _total(values: Row) -> float:
    size = len(values) // _NUM_SUMS * _NUM_SUMS
    sums = values[:size].reshape(-1, _NUM_SUMS).sum(axis=0)
    return float(sums.sum(dtype=np.float64)) + float(values[size:].sum(dtype=np.float64))


def _lower_bound(row: Row, count: int) -> np.float32:
    """Return a logit that at least `count` tokens reach: the count-th greatest of the maxima of many small groups."""
    num_groups = min(count * _NUM_GROUPS_PER_CANDIDATE, len(row) // 2)
    if num_groups < count:
        return np.float32(-np.inf)
    size = len(row) // num_groups * num_groups
    maxima = row[:size].reshape(-1, num_groups).max(axis=0)
    return np.float32(np.partition(maxima, num_groups - count)[num_groups - count])
