"""The record of use as Prometheus families. Pure: sums and sketches in, families out.

Names are vLLM's with our prefix where vLLM has one. Labels have few values, and none that a user chooses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from webapp.usage.record import REFUSED
from webapp.usage.sketch import distribution
from webapp.usage.totals import Total, Use

PREFIX = "sightglass_"
_KIND = ("model_name", "surface")
_ANSWERED = "done"
_INPUT = ("uncached_input", "cache_read", "cache_write_5m", "cache_write_1h")
_NANO = 10**9
PER_S = 10**6


class Timed(NamedTuple):
    """One histogram of times."""

    name: str
    description: str
    metric: str
    """Of the sketches, in µs."""
    bounds: tuple[float, ...]
    """Seconds."""


_FIRST = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
_EACH = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_WHOLE = (0.1, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0)
TIMES = (
    Timed("request_queue_time_seconds", "Time from the queue to a worker's engine.", "queue_us", _FIRST),
    Timed("time_to_first_token_seconds", "Time to the first sampled token.", "first_token_us", _FIRST),
    Timed(
        "time_to_first_text_seconds", "Time to the first text that the output check released.", "first_text_us", _FIRST
    ),
    Timed("time_per_output_token_seconds", "Mean time from token to token, per request.", "per_token_us", _EACH),
    Timed(
        "e2e_request_latency_seconds", "Time from acceptance to settlement, failures included.", "duration_us", _WHOLE
    ),
)


def families(use: Use) -> Iterator[Metric]:
    """Yield all families of the use."""
    accepted = [total for total in use.totals if total.ending.status != REFUSED]
    yield from _requests(use.totals, accepted)
    yield from _tokens(accepted)
    yield _counter("cost", "Cost, in units of the currency.", (*_KIND, "currency"), accepted, _cost, _NANO)
    yield from _times(use)


Amounts = Callable[[Total], Iterator[tuple[Sequence[str], int]]]
"""The values of the labels that a total adds to, and by how much. Sums of integers never fall, as of floats might."""


def _counter(
    name: str, description: str, labels: Sequence[str], totals: list[Total], amounts: Amounts, unit: int = 1
) -> Metric:
    found = Counter[tuple[str, ...]]()
    for total in totals:
        for values, amount in amounts(total):
            found[tuple(values)] += amount
    family = CounterMetricFamily(PREFIX + name, description, labels=labels)
    for values, amount in sorted(found.items()):
        family.add_metric(values, amount / unit)
    return family


def _requests(totals: list[Total], accepted: list[Total]) -> Iterator[Metric]:
    def answered(total: Total) -> Iterator[tuple[Sequence[str], int]]:
        if total.ending.status == _ANSWERED:
            yield total.kind, total.sums.num_requests

    def unanswered(total: Total) -> Iterator[tuple[Sequence[str], int]]:
        if total.ending.status != _ANSWERED:
            yield (*total.kind, total.ending.status, total.ending.error_code), total.sums.num_requests

    def refused(total: Total) -> Iterator[tuple[Sequence[str], int]]:
        # Without the model: a client may ask for any name.
        if total.ending.status == REFUSED:
            yield (total.kind.surface, total.ending.error_code), total.sums.num_requests

    def checked(total: Total) -> Iterator[tuple[Sequence[str], int]]:
        if total.ending.verdict:
            yield (*total.kind, total.ending.verdict), total.sums.num_requests

    def unpriced(total: Total) -> Iterator[tuple[Sequence[str], int]]:
        yield total.kind, total.sums.num_unpriced

    yield _counter("request_success", "Requests that were answered.", _KIND, accepted, answered)
    description = "Accepted requests without a whole answer: stopped, withheld, blocked or failed."
    yield _counter("request_unanswered", description, (*_KIND, "status", "error_code"), accepted, unanswered)
    description = "Requests that the gateway did not accept, or whose prompt was too long."
    yield _counter("request_refusals", description, ("surface", "error_code"), totals, refused)
    description = "Requests by the worst verdict of their safety checks."
    yield _counter("safety_verdicts", description, (*_KIND, "verdict"), accepted, checked)
    description = "Requests that used tokens without a price. Their cost is unknown."
    yield _counter("unpriced_requests", description, _KIND, accepted, unpriced)


def _tokens(accepted: list[Total]) -> Iterator[Metric]:
    def prompt(total: Total) -> Iterator[tuple[Sequence[str], int]]:
        for kind in _INPUT:
            yield (*total.kind, kind), getattr(total.sums, kind)

    def generated(total: Total) -> Iterator[tuple[Sequence[str], int]]:
        yield total.kind, total.sums.output

    def queried(total: Total) -> Iterator[tuple[Sequence[str], int]]:
        yield total.kind, sum(getattr(total.sums, kind) for kind in _INPUT) - total.sums.cache_unknown_input

    def hit(total: Total) -> Iterator[tuple[Sequence[str], int]]:
        yield total.kind, total.sums.cache_read

    yield _counter(
        "prompt_tokens", "Input tokens by kind. The kinds never overlap.", (*_KIND, "kind"), accepted, prompt
    )
    yield _counter("generation_tokens", "Output tokens.", _KIND, accepted, generated)
    description = "Input tokens for which the use of the prefix cache is known."
    yield _counter("prefix_cache_queries", description, _KIND, accepted, queried)
    yield _counter("prefix_cache_hits", "Input tokens that came from the prefix cache.", _KIND, accepted, hit)


def _cost(total: Total) -> Iterator[tuple[Sequence[str], int]]:
    if total.ending.currency:
        yield (*total.kind, total.ending.currency), total.sums.cost_nano


def _times(use: Use) -> Iterator[Metric]:
    for timed in TIMES:
        family = HistogramMetricFamily(PREFIX + timed.name, timed.description, labels=_KIND)
        for kind, sketch in use.sketches.items():
            found = distribution(sketch, timed.metric, [bound * PER_S for bound in timed.bounds])
            if found.num:
                buckets = [(str(bound), num) for bound, num in zip(timed.bounds, found.up_to, strict=True)]
                family.add_metric(kind, [*buckets, ("+Inf", found.num)], found.total / PER_S)
        yield family
