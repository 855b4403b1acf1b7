"""The trace library's JSON API: list, change, delete and export of traces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse

from webapp.api.places import places
from webapp.api.requests import find
from webapp.api.view import api
from webapp.gateway.body import read_body
from webapp.gateway.errors import ApiError, not_found, user_id
from webapp.requests.models import Request
from webapp.requests.progress import note_started
from webapp.traces import store
from webapp.traces.export import otlp
from webapp.traces.export.formats import FORMATS
from webapp.traces.export.redact import redact, redact_summary
from webapp.traces.file.htmlfile import PageNotBuilt
from webapp.traces.library import listing as library
from webapp.traces.library.filters import FilterError, conditions
from webapp.traces.library.order import CursorError, Order
from webapp.traces.models import Entry

PAGE = 50
_NO_FILTERS = ("cursor", "is_folded")
_MAX_NOTE_CHARS = 10_000
_SEND_TIMEOUT_S = 5.0


class Change(msgspec.Struct, forbid_unknown_fields=True):
    """The marks to change; a field that is left out stays."""

    is_pinned: bool | None = None
    note: str | None = None
    tags: list[str] | None = None


@api("GET")
def traces(request: HttpRequest) -> HttpResponse:
    """The user's requests that meet every filter, in the order of `sort` (newest first).

    `cursor` continues a list. With `is_folded`, a set of runs is one row.
    """
    asked = [(name, text) for name, texts in request.GET.lists() for text in texts]
    try:
        met = conditions((name, text) for name, text in asked if name not in _NO_FILTERS)
    except FilterError as error:
        raise ApiError(400, "invalid", str(error), error.field) from None
    note_started(user_id(request))
    order = Order.of(text) if (text := request.GET.get("sort")) else Order()
    matching = order.apply(library.matching(user_id(request), met))
    is_folded = checked_flag(request.GET.get("is_folded"), "is_folded")
    rows = library.folded(matching) if is_folded else matching
    if cursor := request.GET.get("cursor"):
        rows = _continued(rows, order, cursor)
    page = library.first(rows, PAGE + 1)
    next_cursor = order.cursor_of(page[PAGE - 1]) if len(page) > PAGE else None
    answer = listed(page[:PAGE])
    if is_folded:
        sets = library.sets(matching, page[:PAGE])
        answer = [row | {"set": sets.get(row["rerun_id"])} for row in answer]
    return JsonResponse({"traces": answer, "next_cursor": next_cursor})


def listed(rows: list[Request]) -> list[dict[str, Any]]:
    """ListedTrace of the native API: the summary and its owner's marks, which are null while there is no trace."""
    marks, found = library.marks(rows), places(rows)
    return [row.summary() | found[row.pk] | {"marks": marks.get(row.pk)} for row in rows]


def _continued(rows: QuerySet[Request], order: Order, cursor: str) -> QuerySet[Request]:
    try:
        return order.after(rows, cursor)
    except CursorError:
        message = "cursor must be the next_cursor of an earlier answer in the same order."
        raise ApiError(400, "invalid", message, "cursor") from None


@api("PATCH", "DELETE")
def trace(request: HttpRequest, request_id: str) -> HttpResponse:
    found = find(request, request_id)
    if request.method == "PATCH":
        return _change(found, read_body(request, Change))
    if not found.is_settled:
        raise ApiError(409, "still_running", "The request is still running. Stop it first.")
    store.delete(found)
    return HttpResponse(status=204)


def _change(found: Request, body: Change) -> HttpResponse:
    """Change pin, note and tags; return the row."""
    entry = Entry.objects.filter(pk=found.pk).first()
    if entry is None:
        raise not_found("saved trace")
    names = None if body.tags is None else checked_tags(body.tags, "tags")
    if body.note is not None:
        entry.note = checked_note(body.note)
    if body.is_pinned is not None:
        entry.is_pinned = body.is_pinned
    entry.save(update_fields=[name for name in ("is_pinned", "note") if getattr(body, name) is not None])
    if names is not None:
        library.set_tags(entry, names)
    return JsonResponse(listed([found])[0])


def checked_note(text: str) -> str:
    if len(text) > _MAX_NOTE_CHARS or "\x00" in text:
        message = f"A note may have at most {_MAX_NOTE_CHARS:,} characters, and no NUL. Shorten it."
        raise ApiError(400, "invalid", message, "note")
    return text.strip()


def checked_tags(given: Iterable[str], field: str) -> list[str]:
    """The tags without surrounding spaces and duplicates. Raises ApiError."""
    names = list(dict.fromkeys(" ".join(name.split()) for name in given))
    if len(names) > library.MAX_TAGS:
        raise ApiError(400, "invalid", f"A trace may have at most {library.MAX_TAGS} tags.", field)
    for name in names:
        if not name.isprintable() or not 0 < len(name) <= library.MAX_TAG_CHARS:
            message = f"A tag has 1 to {library.MAX_TAG_CHARS} printable characters, not {len(name)}."
            raise ApiError(400, "invalid", message, field)
    return names


@api("GET")
def export(request: HttpRequest, request_id: str) -> HttpResponse:
    """The saved trace as a file. `format` names one of FORMATS, by default our own; `redact=true` removes texts."""
    found = find(request, request_id)
    form = FORMATS.get(request.GET.get("format", "sgtrace"))
    if form is None:
        raise ApiError(400, "invalid", f"format must be one of {', '.join(FORMATS)}.", "format")
    is_redacted = checked_flag(request.GET.get("redact"))
    try:
        frames, about = store.load_frames(found.pk), found.summary()
        if is_redacted:
            frames, about = redact(frames), redact_summary(about)
        data = form.encode(frames, about) if frames else b""
    except PageNotBuilt:
        message = "The replay page is not built on this server: run `npm run build` in frontend."
        raise ApiError(503, "not_built", message) from None
    if not frames:
        raise not_found("saved trace")
    response = HttpResponse(data, content_type=form.content_type)
    name = f"sightglass-{found.pk}{'-redacted' if is_redacted else ''}{form.suffix}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@api("POST")
def send(request: HttpRequest, request_id: str) -> HttpResponse:
    """Send the trace to the operator's OTLP endpoint; 409 where none is set."""
    found, endpoint = find(request, request_id), settings.ENVIRONMENT.otlp
    if endpoint is None:
        raise ApiError(409, "not_configured", "The operator has set no OTLP endpoint to send traces to.")
    if found.is_imported:
        # An imported trace may be forged, and its ids may be those of another request.
        raise ApiError(409, "imported", "This server does not send imported traces, because they come from elsewhere.")
    try:
        frames = store.load_frames(found.pk)
        if not frames:
            raise not_found("saved trace")
        return JsonResponse({"num_spans": otlp.send(endpoint, frames, _SEND_TIMEOUT_S)})
    except otlp.OtlpError as error:
        raise ApiError(502, "otlp_failed", f"{error.said}.") from None


def checked_flag(text: str | None, field: str = "redact") -> bool:
    """The flag's value; False when absent or empty. Raises ApiError."""
    if text not in (None, "", "true", "false"):
        raise ApiError(400, "invalid", f"{field} must be true or false, not {text!r}.", field)
    return text == "true"
