"""Operations on several saved requests: views, tags, and actions on a selection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import msgspec
from django.http import HttpRequest, StreamingHttpResponse

from webapp.api.traces.traces import checked_tags
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.names import checked_name, save_named
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Query, Result
from webapp.lifecycle.stream.frames import read
from webapp.requests.models import Request
from webapp.requests.progress import note_started
from webapp.requests.summary import about
from webapp.traces import models, store
from webapp.traces.export.redact import redact, redact_summary
from webapp.traces.file.archive import TraceFileError
from webapp.traces.file.bundle import BundleWriter
from webapp.traces.file.jsonfile import encode_json
from webapp.traces.library import listing as library
from webapp.traces.library.filters import FilterError, conditions_of
from webapp.traces.library.listing import Choices, Selection, SelectionError, TagCount

_MAX_VIEWS = 100
_MAX_QUERY_CHARS = 2000
_MAX_ARCHIVED_BYTES = 14 << 20
"""Size as saved. As zipped JSON, traces take about twice that, and can still be imported again."""


class NewView(Body):
    """A view to save."""

    name: str
    query: str
    """As in the library's address."""


class ViewChange(Body):
    """The fields to change; a field that is left out stays."""

    name: str | None = None
    query: str | None = None


class SavedView(Result):
    """A filter and an order of the library under a name."""

    id: int
    name: str
    query: str
    """As in the library's address."""


class ViewList(Result):
    """The user's saved views, by name."""

    views: list[SavedView]


class TagList(Result):
    """The user's tags, the most used first."""

    tags: list[TagCount]


class FilterChoices(Result):
    """The texts that each filter can find among the user's requests."""

    choices: Choices


class TagChange(Selection):
    """The selected traces, the tags that they get and the tags that they lose."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class Changed(Result):
    """The number of traces that an operation changed."""

    num_traces: int


class ArchiveForm(Query):
    """The traces of an archive."""

    selection: str = ""
    """A Selection as JSON."""
    redact: bool = False
    """Texts and tokens are removed."""


def list_views(request: HttpRequest) -> ViewList:
    """List the user's saved views."""
    rows = models.SavedView.objects.filter(user_id=user_id(request)).order_by("name")
    return ViewList(views=[_shown(row) for row in rows])


@answers(201)
def create_view(request: HttpRequest, body: NewView) -> SavedView:
    """Save a view. 409 `exists`, `too_many` (100)."""
    owner = user_id(request)
    if models.SavedView.objects.filter(user_id=owner).count() >= _MAX_VIEWS:
        raise ApiError(409, "too_many", f"You have {_MAX_VIEWS} views, the limit. Delete one first.")
    view = models.SavedView(user_id=owner, name=checked_name(body.name, "view"), query=_checked_query(body.query))
    save_named(view, "view")
    return _shown(view)


def change_view(request: HttpRequest, view_id: int, body: ViewChange) -> SavedView:
    """Change a saved view. 409 `exists`."""
    found = _find_view(request, view_id)
    if body.name is not None:
        found.name = checked_name(body.name, "view")
    if body.query is not None:
        found.query = _checked_query(body.query)
    save_named(found, "view")
    return _shown(found)


def delete_view(request: HttpRequest, view_id: int) -> None:
    """Delete a saved view."""
    _find_view(request, view_id).delete()


def _find_view(request: HttpRequest, view_id: int) -> models.SavedView:
    found = models.SavedView.objects.filter(pk=view_id, user_id=user_id(request)).first()
    if found is None:
        raise not_found("saved view")
    return found


def _checked_query(text: str) -> str:
    query = text.removeprefix("?")
    if len(query) > _MAX_QUERY_CHARS:
        raise ApiError(400, "invalid", f"query may have at most {_MAX_QUERY_CHARS} characters.", "query")
    try:
        conditions_of(query)
    except FilterError as error:
        raise ApiError(400, "invalid", f"query: {error}", "query") from None
    return query


def _shown(view: models.SavedView) -> SavedView:
    return SavedView(id=view.pk, name=view.name, query=view.query)


def list_tags(request: HttpRequest) -> TagList:
    """List the user's tags."""
    return TagList(tags=library.tags(user_id(request)))


def list_choices(request: HttpRequest) -> FilterChoices:
    """List the texts that each filter can find."""
    note_started(user_id(request))
    return FilterChoices(choices=library.choices(user_id(request)))


def change_tags(request: HttpRequest, body: TagChange) -> Changed:
    """Add and remove tags of all selected traces, 1,000 at most."""
    add, remove = checked_tags(body.add, "add"), checked_tags(body.remove, "remove")
    found = selected(user_id(request), body)
    library.change_tags(found, add, remove)
    return Changed(num_traces=len(found))


def delete_requests(request: HttpRequest, body: Selection) -> Changed:
    """Delete all selected traces, 1,000 at most; open requests stay."""
    found = selected(user_id(request), body)
    for each in found:
        store.delete(each)
    return Changed(num_traces=len(found))


@answers(200, media="application/zip")
def archive_requests(request: HttpRequest, form: ArchiveForm) -> StreamingHttpResponse:
    """Stream the selected traces as one zip file. 413 for more than 14 MiB as saved."""
    is_redacted = form.redact
    try:
        selection = msgspec.json.decode(form.selection, type=Selection)
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
        frames, summary = store.load_frames(request.pk), about(request)
    except TraceFileError as error:
        writer.leave_out(request.pk, str(error))
        return b""
    if not frames:
        writer.leave_out(request.pk, "It was deleted in the meantime.")
        return b""
    if is_redacted:
        return writer.add(request.pk, encode_json(redact(frames), redact_summary(summary)), {})
    marks = library.marks([request]).get(request.pk)
    return writer.add(request.pk, encode_json(frames, summary), msgspec.to_builtins(marks) if marks else {})


def selected(owner: int, selection: Selection) -> list[Request]:
    """The selected requests of the owner. Raises ApiError."""
    try:
        return library.select(owner, selection)
    except FilterError as error:
        raise ApiError(400, "invalid", f"query: {error}", "query") from None
    except SelectionError as error:
        raise ApiError(400, "invalid", str(error), "query") from None
