"""The record of use as OpenTelemetry metrics, by the conventions for generative AI. Pure: sums and sketches in.

Each settled request has one root span and counts once in the durations, so metrics and spans add up. The conventions'
own bounds are used. Durations do not tell errors apart: the sketches do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from webapp.traces.export.otel import PROVIDER
from webapp.usage.metrics.families import PER_S
from webapp.usage.sketch import Distribution, distribution
from webapp.usage.totals import Kind, Use

_DURATIONS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_PER_TOKEN = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_FIRST_TOKEN = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_TOKENS = tuple(float(4**power) for power in range(14))
_STREAMED = "chat"
"""The surface that is known to take a stream, as the spans have it."""


@dataclass(frozen=True)
class _Instrument:
    name: str
    unit: str
    description: str
    metric: str
    bounds: tuple[float, ...]
    per_unit: int = PER_S
    """Sketched units per unit of the instrument."""
    token_type: str | None = None
    is_streamed: bool = False
    """True: it counts streamed answers only."""


_INSTRUMENTS = (
    _Instrument(
        "gen_ai.client.token.usage", "{token}", "Number of input tokens used.", "input_tokens", _TOKENS, 1, "input"
    ),
    _Instrument(
        "gen_ai.client.token.usage", "{token}", "Number of output tokens used.", "output_tokens", _TOKENS, 1, "output"
    ),
    _Instrument("gen_ai.client.operation.duration", "s", "GenAI operation duration.", "duration_us", _DURATIONS),
    _Instrument(
        "gen_ai.client.operation.time_to_first_chunk",
        "s",
        "Time to receive the first chunk of a streamed answer.",
        "first_text_us",
        _DURATIONS,
        is_streamed=True,
    ),
    _Instrument(
        "gen_ai.server.time_to_first_token", "s", "Time to generate the first token.", "first_token_us", _FIRST_TOKEN
    ),
    _Instrument(
        "gen_ai.server.time_per_output_token",
        "s",
        "Time per output token generated after the first token.",
        "per_token_us",
        _PER_TOKEN,
    ),
)


def to_otlp(use: Use, now: datetime) -> ExportMetricsServiceRequest:
    """Return the body of a `POST /v1/metrics`: cumulative since the first day of use."""
    metrics: dict[str, Metric] = {}
    for instrument in _INSTRUMENTS:
        for point in _points(use, instrument, now):
            made = metrics.setdefault(instrument.name, _metric(instrument))
            made.histogram.data_points.append(point)
    scope = ScopeMetrics(scope=InstrumentationScope(name="sightglass"), metrics=metrics.values())
    resource = Resource(attributes=[_attribute("service.name", "sightglass")])
    return ExportMetricsServiceRequest(resource_metrics=[ResourceMetrics(resource=resource, scope_metrics=[scope])])


def _metric(instrument: _Instrument) -> Metric:
    cumulative = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    return Metric(
        name=instrument.name,
        unit=instrument.unit,
        description=instrument.description,
        histogram=Histogram(aggregation_temporality=cumulative),
    )


def _points(use: Use, instrument: _Instrument, now: datetime) -> Iterator[HistogramDataPoint]:
    for kind, sketch in use.sketches.items():
        if instrument.is_streamed and kind.surface != _STREAMED:
            continue
        found = distribution(sketch, instrument.metric, [bound * instrument.per_unit for bound in instrument.bounds])
        if found.num:
            yield _point(kind, instrument, found, use.since or now, now)


def _point(
    kind: Kind, instrument: _Instrument, found: Distribution, since: datetime, now: datetime
) -> HistogramDataPoint:
    up_to = [0, *found.up_to, found.num]
    return HistogramDataPoint(
        attributes=_attributes(kind, instrument),
        start_time_unix_nano=_nano(since),
        time_unix_nano=_nano(now),
        count=found.num,
        sum=found.total / instrument.per_unit,
        bucket_counts=[after - before for before, after in pairwise(up_to)],
        explicit_bounds=instrument.bounds,
    )


def _attributes(kind: Kind, instrument: _Instrument) -> list[KeyValue]:
    known = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDER,
        "gen_ai.request.model": kind.model,
        "gen_ai.response.model": kind.model,
        "gen_ai.token.type": instrument.token_type,
        "sightglass.surface": kind.surface,
    }
    return [_attribute(name, value) for name, value in known.items() if value]


def _attribute(name: str, value: str) -> KeyValue:
    return KeyValue(key=name, value=AnyValue(string_value=value))


def _nano(at: datetime) -> int:
    return int(at.timestamp()) * 10**9
