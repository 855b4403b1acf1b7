"""A trace for Perfetto (ui.perfetto.dev) and chrome://tracing. Pure: frames in, JSON out.

Follows the Trace Event Format, JSON object form: metadata (`M`) names process and lanes, `X` are spans, `i` moments,
`C` counters. Times are µs since the epoch, so that traces of one machine can be compared. Values that the log lacks
are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

import msgspec

from inference.protocol.events import (
    Frame,
    GenerationQueued,
    PrefillAdvanced,
    RequestAccepted,
    TokenSampled,
)
from inference.protocol.request import PROTOCOL_VERSION
from webapp.traces.export.spans import STAGES, Log, Span, kind, spans
from webapp.traces.file.columns import MAX_EVENTS

_PID = 1
_MAIN = _PID
"""Thread id for the process as a whole; 0 is the idle task's in Perfetto."""
_LANES_PER_STAGE = MAX_EVENTS
"""Thread ids per stage: one thread cannot hold overlapping spans."""


def to_perfetto(frames: Sequence[Frame]) -> bytes:
    """The JSON of a trace file that both viewers open."""
    log = Log(frames)
    laid = list(_laid(spans(log)))
    return msgspec.json.encode(
        {
            "displayTimeUnit": "ms",
            "otherData": _other(log),
            "traceEvents": [
                *_metadata(log, sorted({tid for tid, _ in laid})),
                *(_event(span, tid, log.accepted_unix_us) for tid, span in laid),
                *_counters(log),
            ],
        }
    )


def _other(log: Log) -> dict[str, Any]:
    accepted = log.first(RequestAccepted)
    known = {"request_id": accepted.request_id, "model": accepted.model} if accepted else {}
    return {"producer": "Sightglass", "version": PROTOCOL_VERSION} | known


def _laid(found: Sequence[Span]) -> Iterator[tuple[int, Span]]:
    """Yield each span, in the order of their start, with its thread id: the first free lane of its stage."""
    lanes = {stage: _Lanes((rank + 1) * _LANES_PER_STAGE) for rank, stage in enumerate(STAGES)}
    for span in found:
        lane = lanes[span.stage]
        yield lane.first if span.end is None else lane.take(span.start, span.end), span


class _Lanes:
    """One stage's thread ids; each holds one span at a time."""

    def __init__(self, first: int) -> None:
        self.first = first
        self._num_used = 0
        self._busy: list[tuple[int, int]] = []
        """Heap of (end, lane) for each lane in use."""
        self._free: list[int] = []

    def take(self, start: int, end: int) -> int:
        while self._busy and self._busy[0][0] <= start:
            heappush(self._free, heappop(self._busy)[1])
        if not self._free:
            heappush(self._free, self.first + self._num_used)
            self._num_used += 1
        lane = heappop(self._free)
        heappush(self._busy, (end, lane))
        return lane


def _metadata(log: Log, tids: Sequence[int]) -> Iterator[dict[str, Any]]:
    accepted = log.first(RequestAccepted)
    yield _named("process_name", _MAIN, name=f"Sightglass {accepted.request_id}" if accepted else "Sightglass")
    labels = list(STAGES.values())
    for tid in tids:
        stage, lane = divmod(tid, _LANES_PER_STAGE)
        yield _named("thread_name", tid, name=labels[stage - 1] + (f" ({lane + 1})" if lane else ""))
        yield _named("thread_sort_index", tid, sort_index=tid)


def _named(name: str, tid: int, /, **args: object) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": _PID, "tid": tid, "args": args}


def _event(span: Span, tid: int, zero: int) -> dict[str, Any]:
    common = {"name": span.name, "cat": span.stage, "ts": zero + span.start, "pid": _PID, "tid": tid}
    if span.event is not None:
        common["args"] = {"event": kind(span.event)} | _scalars(span.event)
    if span.end is None:
        return common | {"ph": "i", "s": "t"}
    return common | {"ph": "X", "dur": span.end - span.start}


def _scalars(event: msgspec.Struct) -> dict[str, Any]:
    """The event's single values, without lists, which the JSON export has. Bytes become text where they are UTF-8."""
    values = {name: value for name, value in msgspec.structs.asdict(event).items() if name != "at"}
    return {
        name: value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
        for name, value in values.items()
        if isinstance(value, bool | int | float | str | bytes)
    }


def _counters(log: Log) -> Iterator[dict[str, Any]]:
    for event in log.events:
        for name, unit, value in _figures(event):
            if value is not None and math.isfinite(value):
                at = log.accepted_unix_us + event.at
                yield {"ph": "C", "name": name, "ts": at, "pid": _PID, "tid": _MAIN, "args": {unit: value}}


def _figures(event: msgspec.Struct) -> list[tuple[str, str, float | None]]:
    match event:
        case TokenSampled():
            return [
                ("batch size", "sequences", event.batch_size),
                ("tokens generated", "tokens", event.position + 1),
                ("entropy", "nats", event.entropy),
            ]
        case PrefillAdvanced():
            return [
                ("batch size", "sequences", event.num_sequences),
                ("prompt read", "tokens", event.end),
            ]
        case GenerationQueued():
            return [("queue depth", "requests", event.queue_depth)]
    return []
