"""Probe results of saved requests, kept beside the trace and deleted with it."""

from __future__ import annotations

from typing import ClassVar

import zstandard
from django.db import models

from webapp.traces.models import Trace

_MAX_BYTES = 64 << 20
"""Limit on one event's JSON: attention of the largest context in a model of 80 layers with 64 heads is 14 MB."""


class Probe(models.Model):
    """One probe's event."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="probes")
    kind = models.CharField(max_length=16)
    position = models.PositiveIntegerField()
    blob = models.BinaryField()
    """The event's JSON as a zstd frame."""

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["trace", "kind", "position"], name="one_per_look")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.trace_id} at {self.position}"


def load(request_id: str, kind: str, position: int) -> bytes | None:
    """Return the event's JSON; None: this probe was not made yet."""
    row = Probe.objects.filter(trace_id=request_id, kind=kind, position=position).first()
    return None if row is None else zstandard.decompress(bytes(row.blob), max_output_size=_MAX_BYTES)


def save(request_id: str, kind: str, position: int, event: bytes) -> bool:
    """Save the event beside the trace; False: the request has no trace yet."""
    has_trace = Trace.objects.filter(pk=request_id).exists()
    if has_trace:
        Probe.objects.get_or_create(
            trace_id=request_id, kind=kind, position=position, defaults={"blob": zstandard.compress(event)}
        )
    return has_trace
