"""Operations of the library: list, mark, delete and export saved requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar, Literal

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from webapp.api.requests.places import PlacedRequest, places
from webapp.api.requests.requests import find
from webapp.environment import OtlpEndpoint
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Query, Result
from webapp.requests.models import Request
from webapp.requests.progress import note_started
from webapp.requests.summary import about, summary_fields
from webapp.traces import store
from webapp.traces.export import otlp
from webapp.traces.export.formats import FORMATS
from webapp.traces.export.redact import redact, redact_summary
from webapp.traces.file.htmlfile import PageNotBuilt
from webapp.traces.library import listing as library
from webapp.traces.library.filters import FilterError, conditions
from webapp.traces.library.listing import Marks, RunsOfSet
from webapp.traces.library.order import CursorError, Order
from webapp.traces.models import Entry

PAGE = 50
_NO_FILTERS = ("cursor", "is_grouped")
_MAX_NOTE_CHARS = 10_000
_SEND_TIMEOUT_S = 5.0


class ListQuery(Query):
    """Filters, which hold together, and the order of the list. Times are in µs, costs in billionths, days in UTC."""

    takes_others: ClassVar[bool] = True  # The filters refuse an unknown one.

    q: str = ""
    """Words in the title, the message or the answer."""
    model: str = ""
    surface: str = ""
    rerun: str = ""
    """Id of a set of runs."""
    status: str = ""
    finish_reason: str = ""
    verdict: str = ""
    """`none` finds requests without a recorded check."""
    tag: str = ""
    """May be given several times."""
    is_pinned: str = ""
    is_imported: str = ""
    since: str = ""
    """A day or a time."""
    until: str = ""
    """A day, which is included, or a time."""
    first_token_us_min: str = ""
    first_token_us_max: str = ""
    first_text_us_min: str = ""
    first_text_us_max: str = ""
    duration_us_min: str = ""
    duration_us_max: str = ""
    cost_nano_min: str = ""
    cost_nano_max: str = ""
    sort: str = ""
    """`created_at`, `num_input_tokens`, `num_output_tokens`, `first_token_us`, `first_text_us`, `duration_us` or
    `cost_nano`. A `-` before it puts the largest first. The default is `-created_at`. Unknown figures come last,
    equal ones newest first."""
    is_grouped: bool = False
    """A set of runs is one row, its last run's."""
    cursor: str = ""
    """The `next_cursor` of an earlier answer in the same order."""


class ListedRequest(PlacedRequest):
    """A row of the library."""

    marks: Marks | None
    """Null while there is no saved trace."""
    set: RunsOfSet | None = None
    """The row stands for all of these runs."""


class RequestList(Result):
    """One page of the library."""

    requests: list[ListedRequest]
    next_cursor: str | None


class MarksChange(Body):
    """The marks to change; a field that is left out stays."""

    is_pinned: bool | None = None
    note: str | None = None
    tags: list[str] | None = None


def list_requests(request: HttpRequest, query: ListQuery) -> RequestList:
    """List the user's requests that meet every filter. An unknown filter is a 400."""
    asked = [(name, text) for name, texts in request.GET.lists() for text in texts]
    try:
        met = conditions((name, text) for name, text in asked if name not in _NO_FILTERS)
    except FilterError as error:
        raise ApiError(400, "invalid", str(error), error.field) from None
    note_started(user_id(request))
    order = Order.of(query.sort) if query.sort else Order()
    matching = order.apply(library.matching(user_id(request), met))
    rows = library.grouped(matching) if query.is_grouped else matching
    if query.cursor:
        rows = _continued(rows, order, query.cursor)
    page = library.first(rows, PAGE + 1)
    sets = library.sets(matching, page[:PAGE]) if query.is_grouped else {}
    next_cursor = order.cursor_of(page[PAGE - 1]) if len(page) > PAGE else None
    return RequestList(requests=listed(page[:PAGE], sets), next_cursor=next_cursor)


def listed(rows: list[Request], sets: Mapping[str, RunsOfSet] = MappingProxyType({})) -> list[ListedRequest]:
    """The rows with their owner's marks. sets: those that a row stands for, by set id."""
    marks, found = library.marks(rows), places(rows)
    return [
        ListedRequest(
            **summary_fields(row),
            **found[row.pk],
            marks=marks.get(row.pk),
            set=sets.get(found[row.pk]["rerun_id"] or ""),
        )
        for row in rows
    ]


def _continued(rows: QuerySet[Request], order: Order, cursor: str) -> QuerySet[Request]:
    try:
        return order.after(rows, cursor)
    except CursorError:
        message = "cursor must be the next_cursor of an earlier answer in the same order."
        raise ApiError(400, "invalid", message, "cursor") from None


def change_marks(request: HttpRequest, request_id: str, body: MarksChange) -> ListedRequest:
    """Change the pin, the note or the tags of a saved trace."""
    found = find(request, request_id)
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
    return listed([found])[0]


def delete_request(request: HttpRequest, request_id: str) -> None:
    """Delete a request's trace. An answer in a conversation keeps its text. 409 `still_running`."""
    found = find(request, request_id)
    if not found.is_settled:
        raise ApiError(409, "still_running", "The request is still running. Stop it first.")
    if found.agents.filter(finished_at=None).exists():
        raise ApiError(409, "still_running", "An agent of the request is still running. Delete it in a moment.")
    store.delete(found)


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


class ExportQuery(Query):
    """The file's form."""

    format: Literal["sgtrace", "json", "html", "perfetto", "otlp"] = "sgtrace"
    redact: bool = False
    """Texts and tokens are removed."""


@answers(200, media="application/octet-stream")
def export_request(request: HttpRequest, request_id: str, query: ExportQuery) -> HttpResponse:
    """Export the saved trace as a file. 503 `not_built` where the replay page is missing."""
    found = find(request, request_id)
    form = FORMATS[query.format]
    try:
        frames, summary = store.load_frames(found.pk), about(found)
        if query.redact:
            frames, summary = redact(frames), redact_summary(summary)
        data = form.encode(frames, summary) if frames else b""
    except PageNotBuilt:
        message = "The replay page is not built on this server: run `npm run build` in frontend."
        raise ApiError(503, "not_built", message) from None
    if not frames:
        raise not_found("saved trace")
    response = HttpResponse(data, content_type=form.content_type)
    name = f"sightglass-{found.pk}{'-redacted' if query.redact else ''}{form.suffix}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


class SentSpans(Result):
    """The trace has reached the OTLP endpoint."""

    num_spans: int


async def send_spans(request: HttpRequest, request_id: str) -> SentSpans:
    """Send the trace to the operator's OTLP endpoint. 409 `not_configured`, `imported`; 502 `otlp_failed`."""
    found = await sync_to_async(find)(request, request_id)
    endpoint = settings.ENVIRONMENT.otlp
    if endpoint is None:
        raise ApiError(409, "not_configured", "The operator has set no OTLP endpoint to send traces to.")
    spans = await sync_to_async(_spans)(found, endpoint)
    try:
        await otlp.send(endpoint, spans, _SEND_TIMEOUT_S)
    except otlp.OtlpError as error:
        raise ApiError(502, "otlp_failed", f"{error.said}.") from None
    return SentSpans(num_spans=spans.num)


def _spans(found: Request, endpoint: OtlpEndpoint) -> otlp.Spans:
    """The saved trace's spans. Raises ApiError."""
    if found.is_imported:
        # An imported trace may be forged, and its ids may be those of another request.
        raise ApiError(409, "imported", "This server does not send imported traces, because they come from elsewhere.")
    frames = store.load_frames(found.pk)
    if not frames:
        raise not_found("saved trace")
    return otlp.spans_of(endpoint, frames, store.conversation_of(found.pk))
