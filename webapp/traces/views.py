"""The trace library's JSON API: list, search, export, import, delete."""

from __future__ import annotations

from django.core.exceptions import RequestDataTooBig
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.utils import timezone

from inference.protocol.events import RequestAccepted
from webapp.gateway.errors import ApiError, api, not_found, user_id
from webapp.gateway.requests import find, summary
from webapp.lifecycle.models import Request
from webapp.lifecycle.outcome import Outcome
from webapp.lifecycle.settle import record
from webapp.traces import foreign, store
from webapp.traces.archive import MAX_BYTES, Archive, TraceFileError
from webapp.traces.cursor import CursorError, after, cursor_of
from webapp.traces.formats import FORMATS, decode_file
from webapp.traces.htmlfile import PageNotBuilt
from webapp.traces.models import Trace

_PAGE = 50


@api("GET")
def traces(request: HttpRequest) -> HttpResponse:
    """The user's requests that are open or have their trace, newest first; `cursor` continues a list."""
    rows = (
        Request.objects.filter(Q(finished_at=None) | Q(trace__isnull=False), user_id=user_id(request))
        .select_related("message", "run")
        .defer("input")
        .order_by("-created_at", "-pk")
    )
    asked = request.GET.dict()
    rows = store.search(rows, asked.get("q", ""))
    rows = rows.filter(**{name: asked[name] for name in ("model", "status") if asked.get(name)})
    if cursor := asked.get("cursor"):
        rows = _continued(rows, cursor)
    page = list(rows[: _PAGE + 1])
    next_cursor = cursor_of(page[_PAGE - 1]) if len(page) > _PAGE else None
    return JsonResponse({"traces": [summary(row) for row in page[:_PAGE]], "next_cursor": next_cursor})


def _continued(rows: QuerySet[Request], cursor: str) -> QuerySet[Request]:
    try:
        return after(rows, cursor)
    except CursorError:
        raise ApiError(400, "invalid", "cursor must be the next_cursor of an earlier answer.", "cursor") from None


@api("DELETE")
def trace(request: HttpRequest, request_id: str) -> HttpResponse:
    found = find(request, request_id)
    if not found.is_settled:
        raise ApiError(409, "still_running", "The request is still running. Stop it first.")
    if hasattr(found, "message"):
        Trace.objects.filter(pk=found.pk).delete()  # the answer stays in its conversation
    else:
        found.delete()
    return HttpResponse(status=204)


@api("GET")
def export(request: HttpRequest, request_id: str) -> HttpResponse:
    """The saved trace as a file; `format` names one of FORMATS, by default our own."""
    found = find(request, request_id)
    form = FORMATS.get(request.GET.get("format", "sgtrace"))
    if form is None:
        raise ApiError(400, "invalid", f"format must be one of {', '.join(FORMATS)}.", "format")
    try:
        frames = store.load_frames(found.pk)
        data = form.encode(frames, found.summary()) if frames else b""
    except TraceFileError:
        message = "The saved trace of this request is damaged and cannot be read."
        raise ApiError(409, "trace_unreadable", message) from None
    except PageNotBuilt:
        message = "The page that replays is not built on this server: run `npm run build` in frontend."
        raise ApiError(503, "not_built", message) from None
    if not frames:
        raise not_found("saved trace")
    response = HttpResponse(data, content_type=form.content_type)
    response["Content-Disposition"] = f'attachment; filename="sightglass-{found.pk}{form.suffix}"'
    return response


@api("POST")
def import_file(request: HttpRequest) -> HttpResponse:
    """A file from anybody: validated as a whole before anything is kept."""
    try:
        file = request.FILES.get("file")
    except (RequestDataTooBig, MultiPartParserError):
        raise ApiError(400, "invalid", "Send the trace as multipart form data, in a field named file.") from None
    if file is None:
        raise ApiError(400, "invalid", "Send the trace as multipart form data, in a field named file.", "file")
    if (file.size or 0) > MAX_BYTES:
        raise ApiError(413, "too_large", f"The file is larger than {MAX_BYTES >> 20} MiB, the most a trace may have.")
    try:
        archive = decode_file(file.read())
        accepted, outcome = foreign.check(archive)
    except TraceFileError as error:
        raise ApiError(400, "invalid_trace", str(error), "file") from None
    return JsonResponse(summary(_keep(user_id(request), archive, accepted, outcome)), status=201)


@transaction.atomic
def _keep(user_id: int, archive: Archive, accepted: RequestAccepted, outcome: Outcome) -> Request:
    title = str(archive.summary.get("title", "")).replace("\x00", "")[:200] or "Imported trace"
    request = Request(
        user_id=user_id,
        surface=accepted.surface,
        model=accepted.model.replace("\x00", "")[:128],
        title=title,
        is_imported=True,
        accepted_unix_us=accepted.accepted_unix_us,
        finished_at=timezone.now(),
    )
    record(request, outcome)
    store.save(request, archive.frames)
    return request
