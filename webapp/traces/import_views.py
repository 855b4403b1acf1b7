"""The trace library's JSON API: files from anybody, each validated as a whole before anything is kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.utils import timezone

from inference.protocol.events import AnyEvent, Frame, RequestAccepted, RequestObserved
from webapp.gateway.errors import ApiError, api, user_id
from webapp.gateway.requests import summary
from webapp.lifecycle.models import Request
from webapp.lifecycle.outcome import Outcome
from webapp.lifecycle.settle import record
from webapp.lifecycle.start import take_turns
from webapp.traces import bundle, foreign, library, store
from webapp.traces.archive import MAX_BYTES, Archive, TraceFileError
from webapp.traces.formats import decode_file
from webapp.traces.models import Entry
from webapp.traces.own import own
from webapp.traces.redact import redact
from webapp.traces.views import checked_note, checked_tags

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@api("POST")
def import_file(request: HttpRequest) -> HttpResponse:
    """RequestSummary of the trace, or of each of an archive's; `is_known`: it was in the user's library already."""
    owner, data = user_id(request), _read(request)
    try:
        if data.startswith(bundle.MAGIC):
            taken = _import_bundle(owner, data)
            answer: dict[str, Any] = {"traces": taken}
        else:
            answer = _take(owner, decode_file(data))
            taken = [answer]
    except TraceFileError as error:
        raise ApiError(400, "invalid_trace", str(error), "file") from None
    return JsonResponse(answer, status=200 if all(each["is_known"] for each in taken) else 201)


def _read(request: HttpRequest) -> bytes:
    try:
        file = request.FILES.get("file")
    except (RequestDataTooBig, MultiPartParserError):
        raise ApiError(400, "invalid", "Send the trace as multipart form data, in a field named file.") from None
    if file is None:
        raise ApiError(400, "invalid", "Send the trace as multipart form data, in a field named file.", "file")
    if (file.size or 0) > MAX_BYTES:
        raise ApiError(413, "too_large", f"The file is larger than {MAX_BYTES >> 20} MiB, the most a trace may have.")
    return bytes(file.read())


def _import_bundle(owner: int, data: bytes) -> list[dict[str, Any]]:
    """All or none: read twice, because no more than one of its traces is to be in memory. Raises TraceFileError."""
    for bundled, archive in bundle.read_bundle(data):
        try:
            foreign.check(archive)
            checked_note(bundled.note)
            checked_tags(bundled.tags, "tags")
        except (TraceFileError, ApiError) as error:
            raise TraceFileError(f"{bundled.file}: {error}") from None
    with transaction.atomic():
        return [_take_bundled(owner, bundled, archive) for bundled, archive in bundle.read_bundle(data)]


def _take_bundled(owner: int, bundled: bundle.Bundled, archive: Archive) -> dict[str, Any]:
    """What its owner has put to one that is known stays as it is."""
    taken = _take(owner, archive)
    if not taken["is_known"]:
        entry = Entry(pk=taken["id"], is_pinned=bundled.is_pinned, note=checked_note(bundled.note))
        entry.save(update_fields=["is_pinned", "note"])
        library.set_tags(entry, checked_tags(bundled.tags, "tags"))
    return taken


@transaction.atomic
def _take(owner: int, archive: Archive) -> dict[str, Any]:
    """Raises TraceFileError."""
    accepted, outcome = foreign.check(archive)
    take_turns(owner)  # the same file twice at once is one trace
    known = _known(owner, archive, accepted)
    request = known or _keep(owner, archive, accepted, outcome)
    return summary(request) | {"is_known": known is not None}


def _known(owner: int, archive: Archive, accepted: RequestAccepted) -> Request | None:
    """The user's request that the trace is of, or that an earlier import of it has made."""
    imported = Q(is_imported=True, accepted_unix_us=accepted.accepted_unix_us)
    made_here = Q(is_imported=False, pk=accepted.request_id.replace("\x00", ""))
    events = _events(own(archive.frames))
    for request in Request.objects.filter(imported | made_here, user_id=owner, trace__isnull=False):
        try:
            frames = store.load_frames(request.pk)
        except TraceFileError:
            continue
        if events == _events(frames) or events == _events(redact(frames)):
            return request
    return None


def _events(frames: Sequence[Frame]) -> list[AnyEvent]:
    """Without the browser's own timing, which may have come after a file was written."""
    return [event for frame in frames for event in frame.events if not isinstance(event, RequestObserved)]


def _keep(owner: int, archive: Archive, accepted: RequestAccepted, outcome: Outcome) -> Request:
    title = str(archive.summary.get("title", "")).replace("\x00", "")[:200] or "Imported trace"
    now = timezone.now()
    request = Request(
        user_id=owner,
        surface=accepted.surface,
        model=accepted.model.replace("\x00", "")[:128],
        title=title,
        is_imported=True,
        accepted_unix_us=accepted.accepted_unix_us,
        # The clock of the server where it was made may have been ahead of ours.
        created_at=min(now, _EPOCH + timedelta(microseconds=accepted.accepted_unix_us)),
        finished_at=now,
    )
    record(request, outcome)
    store.save(request, archive.frames)
    return request
