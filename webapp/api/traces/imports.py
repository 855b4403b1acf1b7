"""The operation that imports untrusted trace files, each validated as a whole before anything is saved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from inference.protocol.events import RequestAccepted
from webapp.api import turns
from webapp.api.requests.places import PlacedRequest, places
from webapp.api.traces.traces import checked_note, checked_tags
from webapp.ground.gateway.answer import Answer
from webapp.ground.gateway.body import Upload
from webapp.ground.gateway.errors import ApiError, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Result
from webapp.lifecycle.admission import lock_user
from webapp.lifecycle.settle import record
from webapp.requests.models import Request
from webapp.requests.outcome import Outcome
from webapp.requests.summary import summary_fields
from webapp.traces import store
from webapp.traces.export.formats import decode_file
from webapp.traces.file import bundle, import_check
from webapp.traces.file.archive import MAX_BYTES, Archive, TraceFileError
from webapp.traces.imports.bounded_reading import bounded_reading
from webapp.traces.library import listing as library
from webapp.traces.library.copies import Digests, digests, find, find_import
from webapp.traces.library.quota import QuotaExceeded, storage_of
from webapp.traces.models import Entry, Import

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ImportedRequest(PlacedRequest):
    """The request of an imported trace."""

    is_known: bool
    """The user's library had it already."""


class ImportedRequests(Result):
    """The requests of an imported file: one, or all of an archive."""

    requests: list[ImportedRequest]


@answers(201, 200)
def import_requests(request: HttpRequest, file: Upload) -> Answer[ImportedRequests]:
    """Import a trace (`.sgtrace`, `.json` or `.html`) or an archive's `.zip`.

    200: all are known. 400 `invalid_trace`, 413 `quota_exceeded`: nothing was imported. 429 `import_busy`: one import
    of a user at a time. 503 `busy`: the process that reads files ended.
    """
    owner = user_id(request)
    if (file.size or 0) > MAX_BYTES:
        raise ApiError(413, "too_large", f"The file is larger than {MAX_BYTES >> 20} MiB, the limit for a trace.")
    try:
        with turns.imports().turn(owner):
            taken = _import(owner, bytes(file.read()))
    except TraceFileError as error:
        raise ApiError(400, "invalid_trace", str(error), "file") from None
    except QuotaExceeded as error:
        raise ApiError(413, "quota_exceeded", str(error), "file") from None
    is_new = not all(each.is_known for each in taken)
    return Answer(ImportedRequests(requests=taken), status=201 if is_new else 200)


def _import(owner: int, data: bytes) -> list[ImportedRequest]:
    """Raises TraceFileError."""
    bounded_reading().check(data)
    return _import_bundle(owner, data) if data.startswith(bundle.MAGIC) else [_take(owner, decode_file(data))]


def _import_bundle(owner: int, data: bytes) -> list[ImportedRequest]:
    """Import all traces or none, one in memory at a time. Raises TraceFileError.

    A crash may leave some of the traces saved; a second import finds them as known.
    """
    taken = list[ImportedRequest]()
    try:
        for bundled, archive in bundle.read_bundle(data):
            _check_marks(bundled)
            taken.append(_take(owner, archive, bundled))
    except Exception:
        _take_back(taken)
        raise
    return taken


def _check_marks(bundled: bundle.Bundled) -> None:
    try:
        checked_note(bundled.note)
        checked_tags(bundled.tags, "tags")
    except ApiError as error:
        raise TraceFileError(f"{bundled.file}: {error}") from None


def _take_back(taken: list[ImportedRequest]) -> None:
    # One transaction for all traces would block every other writer while each is read and packed.
    Request.objects.filter(pk__in=[each.id for each in taken if not each.is_known]).delete()


def _take(owner: int, archive: Archive, bundled: bundle.Bundled | None = None) -> ImportedRequest:
    """Import one trace. A known trace keeps its owner's marks. Raises TraceFileError, QuotaExceeded."""
    accepted, outcome = import_check.check(archive)
    told = digests(archive.frames)
    known = find(owner, accepted, told)
    if known is not None:
        return _imported(known, is_known=True)
    request = _request(owner, archive, accepted, outcome)
    blob = store.pack(request, archive.frames)
    with transaction.atomic():  # short for any file: on SQLite all other writers wait for it
        lock_user(owner)  # two simultaneous imports of the same file make one trace
        known = find_import(owner, told)
        if known is None:
            storage_of(owner).check(len(blob))
            _save(request, blob, told, bundled)
    return _imported(known or request, is_known=known is not None)


def _imported(request: Request, is_known: bool) -> ImportedRequest:
    return ImportedRequest(**summary_fields(request), **places([request])[request.pk], is_known=is_known)


def _request(owner: int, archive: Archive, accepted: RequestAccepted, outcome: Outcome) -> Request:
    """Return the trace's request, not saved yet."""
    title = str(archive.summary.get("title", "")).replace("\x00", "")[:200] or "Imported trace"
    request = Request(
        user_id=owner,
        surface=accepted.surface,
        model=accepted.model.replace("\x00", "")[:128],
        title=title,
        is_imported=True,
        accepted_unix_us=accepted.accepted_unix_us,
        # The other server's clock may have been ahead of ours.
        created_at=min(timezone.now(), _EPOCH + timedelta(microseconds=accepted.accepted_unix_us)),
    )
    record(request, outcome)
    return request


def _save(request: Request, blob: bytes, told: Digests, bundled: bundle.Bundled | None) -> None:
    request.save()
    store.save_packed(request, blob)
    Import.objects.create(
        trace_id=request.pk, user_id=request.user_id, events_sha256=told.events, redacted_sha256=told.redacted
    )
    if bundled is not None:
        entry = Entry(pk=request.pk, is_pinned=bundled.is_pinned, note=checked_note(bundled.note))
        entry.save(update_fields=["is_pinned", "note"])
        library.set_tags(entry, checked_tags(bundled.tags, "tags"))
