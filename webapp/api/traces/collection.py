"""The trace library's JSON API for several traces: saved views, tags, and actions on a selection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from webapp.api.traces.traces import checked_flag, checked_tags
from webapp.api.view import api
from webapp.gateway.body import read_body
from webapp.gateway.errors import ApiError, not_found, user_id
from webapp.gateway.names import checked_name, save_named
from webapp.requests.models import Request
from webapp.requests.progress import note_started
from webapp.stream.frames import read
from webapp.traces import store
from webapp.traces.export.redact import redact, redact_summary
from webapp.traces.file.archive import TraceFileError
from webapp.traces.file.bundle import BundleWriter
from webapp.traces.file.jsonfile import encode_json
from webapp.traces.library import listing as library
from webapp.traces.library.filters import FilterError, conditions_of
from webapp.traces.library.listing import Selection, SelectionError
from webapp.traces.models import SavedView

_MAX_VIEWS = 100
_MAX_QUERY_CHARS = 2000
_MAX_ARCHIVED_BYTES = 14 << 20
"""Size as saved. As zipped JSON, traces take about twice that, and can still be imported again."""


class NewView(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    query: str


class ViewChange(msgspec.Struct, forbid_unknown_fields=True):
    name: str | None = None
    query: str | None = None


class TagChange(Selection, forbid_unknown_fields=True):
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@api("GET", "POST")
def views(request: HttpRequest) -> HttpResponse:
    owner = user_id(request)
    if request.method == "GET":
        rows = SavedView.objects.filter(user_id=owner).order_by("name")
        return JsonResponse({"views": [_as_json(row) for row in rows]})
    body = read_body(request, NewView)
    if SavedView.objects.filter(user_id=owner).count() >= _MAX_VIEWS:
        raise ApiError(409, "too_many", f"You have {_MAX_VIEWS} views, the limit. Delete one first.")
    view = SavedView(user_id=owner, name=checked_name(body.name, "view"), query=_checked_query(body.query))
    save_named(view, "view")
    return JsonResponse(_as_json(view), status=201)


@api("PATCH", "DELETE")
def view(request: HttpRequest, view_id: int) -> HttpResponse:
    found = SavedView.objects.filter(pk=view_id, user_id=user_id(request)).first()
    if found is None:
        raise not_found("saved view")
    if request.method == "DELETE":
        found.delete()
        return HttpResponse(status=204)
    body = read_body(request, ViewChange)
    if body.name is not None:
        found.name = checked_name(body.name, "view")
    if body.query is not None:
        found.query = _checked_query(body.query)
    save_named(found, "view")
    return JsonResponse(_as_json(found))


def _checked_query(text: str) -> str:
    query = text.removeprefix("?")
    if len(query) > _MAX_QUERY_CHARS:
        raise ApiError(400, "invalid", f"query may have at most {_MAX_QUERY_CHARS} characters.", "query")
    try:
        conditions_of(query)
    except FilterError as error:
        raise ApiError(400, "invalid", f"query: {error}", "query") from None
    return query


def _as_json(view: SavedView) -> dict[str, Any]:
    return {"id": view.pk, "name": view.name, "query": view.query}


@api("GET")
def tags(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"tags": library.tags(user_id(request))})


@api("GET")
def choices(request: HttpRequest) -> HttpResponse:
    note_started(user_id(request))
    return JsonResponse({"choices": library.choices(user_id(request))})


@api("POST")
def change_tags(request: HttpRequest) -> HttpResponse:
    """Add and remove tags of all selected traces."""
    body = read_body(request, TagChange)
    add, remove = checked_tags(body.add, "add"), checked_tags(body.remove, "remove")
    found = selected(user_id(request), body)
    library.change_tags(found, add, remove)
    return JsonResponse({"num_traces": len(found)})


@api("POST")
def delete(request: HttpRequest) -> HttpResponse:
    """Delete all selected traces; open requests stay."""
    found = selected(user_id(request), read_body(request, Selection))
    for each in found:
        store.delete(each)
    return JsonResponse({"num_traces": len(found)})


@api("POST")
def archive(request: HttpRequest) -> HttpResponseBase:
    """Stream the selected traces as one zip file. Form fields: `selection` (JSON, as elsewhere) and `redact`."""
    is_redacted = checked_flag(request.POST.get("redact"))
    try:
        selection = msgspec.json.decode(request.POST.get("selection", ""), type=Selection)
    except msgspec.DecodeError as error:
        raise ApiError(400, "invalid", f'selection must be JSON such as {{"ids": []}}: {error}', "selection") from None
    found = selected(user_id(request), selection)
    num_bytes = library.num_bytes(found)
    if num_bytes > _MAX_ARCHIVED_BYTES:
        message = (
            f"These traces are {num_bytes >> 20} MiB; {_MAX_ARCHIVED_BYTES >> 20} fit into one archive. Select fewer."
        )
        raise ApiError(413, "too_large", message, "selection")
    response = StreamingHttpResponse(_archived(found, is_redacted), content_type="application/zip")
    name = f"sightglass-traces{'-redacted' if is_redacted else ''}.zip"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response


async def _archived(found: list[Request], is_redacted: bool) -> AsyncIterator[bytes]:
    """Yield the zip file's bytes, trace by trace; a thread reads and packs each."""
    writer = BundleWriter(is_redacted)
    for request in found:
        yield await read(partial(_add, writer, request, is_redacted))
    yield writer.end()


def _add(writer: BundleWriter, request: Request, is_redacted: bool) -> bytes:
    try:
        frames, about = store.load_frames(request.pk), request.summary()
    except TraceFileError as error:
        writer.leave_out(request.pk, str(error))
        return b""
    if not frames:
        writer.leave_out(request.pk, "It was deleted in the meantime.")
        return b""
    if is_redacted:
        return writer.add(request.pk, encode_json(redact(frames), redact_summary(about)), {})
    return writer.add(request.pk, encode_json(frames, about), library.marks([request]).get(request.pk, {}))


def selected(owner: int, selection: Selection) -> list[Request]:
    """The selected requests of the owner. Raises ApiError."""
    try:
        return library.select(owner, selection)
    except FilterError as error:
        raise ApiError(400, "invalid", f"query: {error}", "query") from None
    except SelectionError as error:
        raise ApiError(400, "invalid", str(error), "query") from None
