"""Mergeable sketches of times and tokens: a count of values per logarithmic bucket, with a known error.

The buckets are DDSketch's (arXiv 1908.10693): a percentile lies within 1 % of an exact one. Counts of two sketches
add up, so a merged sketch equals one of all values. Knows nothing of the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from ddsketch.mapping import LogarithmicMapping

RELATIVE_ERROR = 0.01
TIMES = ("queue_us", "first_token_us", "first_text_us", "per_token_us")
"""Times of the usage report, in µs."""
METRICS = (*TIMES, "duration_us", "input_tokens", "output_tokens")
"""Values that are sketched. A metric's place is its number in the stored bytes: append only."""

_MAPPING = LogarithmicMapping(RELATIVE_ERROR)
_LEAST = _MAPPING.key(1)
"""Key of the least value."""
_BUCKET = np.dtype([("metric", "u1"), ("key", "<i2"), ("count", "<u4")])
"""One bucket as it is stored, 7 bytes."""


def sketch_of(values: Mapping[str, int | None]) -> bytes:
    """Return the sketch of one request's values. Unknown values are left out."""
    known = [(METRICS.index(name), value) for name, value in values.items() if value is not None]
    buckets = [(metric, _MAPPING.key(max(value, 1)), 1) for metric, value in known]
    return np.array(sorted(buckets), _BUCKET).tobytes()


def merge(sketches: Iterable[bytes]) -> bytes:
    """Return the sketch of all values of these sketches."""
    joined = np.frombuffer(b"".join(sketches), _BUCKET)
    ids = joined["metric"].astype(np.int64) << 16 | (joined["key"].astype(np.int64) + (1 << 15))
    unique, place = np.unique(ids, return_inverse=True)
    merged = np.empty(len(unique), _BUCKET)
    merged["metric"], merged["key"] = unique >> 16, (unique & 0xFFFF) - (1 << 15)
    merged["count"] = np.bincount(place, joined["count"], len(unique))
    return merged.tobytes()


def percentiles(sketch: bytes, metric: str, quantiles: Iterable[float]) -> list[float] | None:
    """Return the metric's values at these quantiles, in µs. None: the sketch has no value of it."""
    buckets = np.frombuffer(sketch, _BUCKET)
    buckets = buckets[buckets["metric"] == METRICS.index(metric)]
    up_to = np.cumsum(buckets["count"], dtype=np.int64)
    if not len(up_to):
        return None
    ranks = [quantile * (int(up_to[-1]) - 1) for quantile in quantiles]
    return [_MAPPING.value(int(buckets["key"][place])) for place in np.searchsorted(up_to, ranks, side="right")]


@dataclass(frozen=True)
class Distribution:
    """The number of values up to each bound, as a histogram needs it."""

    up_to: tuple[int, ...]
    """One per bound. A value within 2 % of a bound may count on the bound's other side."""
    num: int
    total: int
    """Sum of the values, within 1 %."""


def distribution(sketches: Iterable[bytes], metric: str, bounds: Sequence[float]) -> Distribution:
    """Return how the metric's values of these sketches are distributed. The bounds ascend."""
    buckets = np.frombuffer(b"".join(sketches), _BUCKET)
    buckets = buckets[buckets["metric"] == METRICS.index(metric)]
    keys = buckets["key"].astype(np.int64)
    counts = np.bincount(keys - _LEAST, buckets["count"], minlength=1).astype(np.int64)
    places = [min(_MAPPING.key(bound) - _LEAST + 1, len(counts)) for bound in bounds]
    up_to = np.concatenate([[0], np.cumsum(counts)])
    values = sum(_MAPPING.value(int(place) + _LEAST) * int(counts[place]) for place in np.flatnonzero(counts))
    return Distribution(tuple(int(up_to[place]) for place in places), int(up_to[-1]), round(values))


def num_values(sketch: bytes, metric: str) -> int:
    """Return the number of values of the metric."""
    buckets = np.frombuffer(sketch, _BUCKET)
    return int(buckets["count"][buckets["metric"] == METRICS.index(metric)].sum())
