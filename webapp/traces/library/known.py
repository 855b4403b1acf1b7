"""Which of a user's traces a file is a copy of, told by digests of its events.

A file says itself when and as which request it was made, and any number may say the same: whatever they are compared
by, it must not be that each is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from inference.protocol.codec import encode_events
from inference.protocol.events import AnyEvent, Frame, RequestAccepted, RequestObserved
from webapp.requests.models import Request
from webapp.traces import store
from webapp.traces.export.redact import redact
from webapp.traces.file.archive import TraceFileError, packed
from webapp.traces.models import Import, Trace
from webapp.traces.previous_turn import own


@dataclass(frozen=True)
class Digests:
    """SHA-256 of a trace's events, in hexadecimal, and of their redacted form."""

    events: str
    redacted: str


def digests(frames: Sequence[Frame]) -> Digests:
    """Raises TraceFileError where the events contradict themselves."""
    kept = own(frames)
    try:
        return Digests(_digest(kept), _digest(redact(kept)))
    except ValueError as error:
        raise TraceFileError(f"The trace's events are not valid: {error}") from error


def _digest(frames: Sequence[Frame]) -> str:
    """However they are framed, and without the browser's own timing, which may have come after a file was written."""
    digest = hashlib.sha256()
    for frame in frames:
        for event in frame.events:
            if not isinstance(event, RequestObserved):
                digest.update(_line(event))
    return digest.hexdigest()


def _line(event: AnyEvent) -> bytes:
    return encode_events((event,)) + b"\n"


def find(owner: int, accepted: RequestAccepted, told: Digests) -> Request | None:
    """The user's request that a trace is of, or that an import of it has made; reads few traces, but reads them."""
    return find_import(owner, told) or _find_own(owner, accepted, told)


def find_import(owner: int, told: Digests) -> Request | None:
    """The request that an import of the trace, or of the one it is the redacted form of, has made."""
    same = Q(events_sha256=told.events) | Q(redacted_sha256=told.events)
    for trace_id in list(Import.objects.filter(same, user_id=owner).values_list("trace_id", flat=True)):
        if _is_whole(trace_id):
            return Request.objects.get(pk=trace_id)
        Import.objects.filter(pk=trace_id).delete()  # the next import of the same takes its place
    return None


def _is_whole(trace_id: str) -> bool:
    try:
        packed(bytes(Trace.objects.values_list("blob", flat=True).get(pk=trace_id)))
    except TraceFileError:
        return False
    return True


def _find_own(owner: int, accepted: RequestAccepted, told: Digests) -> Request | None:
    """Read the trace of the request that the file names, where the request was made here."""
    mine = Request.objects.filter(user_id=owner, trace__isnull=False, is_imported=False)
    request = mine.filter(pk=accepted.request_id.replace("\x00", "")).first()
    if request is None:
        return None
    try:
        saved = digests(store.load_frames(request.pk))
    except TraceFileError:
        return None
    return request if told.events in (saved.events, saved.redacted) else None
