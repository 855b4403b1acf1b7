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
_NUM_KEYS = 1 << 12
"""More than there are keys: the least value, 1, has the key 0, and the largest integer of a database 2184."""
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
    counts = np.bincount(joined["metric"].astype(np.int64) * _NUM_KEYS + joined["key"], joined["count"])
    places = np.flatnonzero(counts)
    merged = np.empty(len(places), _BUCKET)
    merged["metric"], merged["key"] = np.divmod(places, _NUM_KEYS)
    merged["count"] = counts[places]
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


def distribution(sketch: bytes, metric: str, bounds: Sequence[float]) -> Distribution:
    """Return how the metric's values are distributed. The bounds ascend."""
    buckets = np.frombuffer(sketch, _BUCKET)
    buckets = buckets[buckets["metric"] == METRICS.index(metric)]
    up_to = np.concatenate([[0], np.cumsum(buckets["count"], dtype=np.int64)])
    places = np.searchsorted(buckets["key"], [_MAPPING.key(bound) for bound in bounds], side="right")
    values = sum(
        _MAPPING.value(int(key)) * int(count) for key, count in zip(buckets["key"], buckets["count"], strict=True)
    )
    return Distribution(tuple(map(int, up_to[places])), int(up_to[-1]), round(values))


def num_values(sketch: bytes, metric: str) -> int:
    """Return the number of values of the metric."""
    buckets = np.frombuffer(sketch, _BUCKET)
    return int(buckets["count"][buckets["metric"] == METRICS.index(metric)].sum())
