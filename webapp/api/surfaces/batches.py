"""Operations on a user's batches, of all families. Knows nothing of how they run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone

from webapp.ground.gateway.answer import Answer
from webapp.ground.gateway.body import Upload
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.idempotency import read_key
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Query, Result
from webapp.identity.keys.middleware import key_of
from webapp.requests.delivery import Key
from webapp.requests.models import Request
from webapp.surfaces.batches import batches
from webapp.surfaces.batches.batches import Counts, check_feature, costs_of, counts_of
from webapp.surfaces.batches.bounds import MAX_BATCH_BYTES
from webapp.surfaces.batches.brought import Mistaken, read_brought
from webapp.surfaces.batches.files import part_of
from webapp.surfaces.batches.models import Batch, Line, StoredFile
from webapp.usage.report import Amount

_MOST_LISTED = 50
_MOST_LINES = 100
_GOING = (Batch.Status.VALIDATING, Batch.Status.IN_PROGRESS)
LineStatus = Literal["waiting", "open", "succeeded", "errored", "canceled", "expired"]
BatchStatus = Literal[
    "validating", "in_progress", "finalizing", "completed", "cancelling", "cancelled", "failed", "expired"
]


class BatchesQuery(Query):
    """Which batches."""

    after: str = ""
    """The id of the last batch that is known; empty: from the newest on."""


class LinesQuery(Query):
    """Which lines."""

    after: int = -1
    """The index of the last line that is known; -1: from the first on."""


class ResultsQuery(Query):
    """Which results."""

    part: Literal["output", "errors"] = "output"
    """The answers; or the lines that have ended without one, each with its reason."""


class LineCounts(Result):
    """Lines of a batch by their state."""

    waiting: int
    open: int
    succeeded: int
    errored: int
    canceled: int
    expired: int


class BatchItem(Result):
    """A batch."""

    id: str
    family: Literal["openai", "anthropic"]
    """The API whose forms its lines have."""
    endpoint: str
    """The address to which each line would be sent alone."""
    models: list[str]
    """All models that its lines name."""
    status: BatchStatus
    counts: LineCounts
    costs: list[Amount]
    """What its ended lines cost so far. Amounts of several currencies are never added up."""
    key: str | None
    """Name of the key that began it; null: a sign-in did, or the key was deleted."""
    is_of_sign_in: bool
    """The page began it."""
    problem: str
    """The first reason why its file cannot be used; empty: it can."""
    created_at: datetime
    ended_at: datetime | None
    expires_at: datetime
    """No line begins after this."""
    waits_until: datetime | None
    """No line begins before this: a limit was reached. null: it does not wait for one."""
    can_cancel: bool


class BatchList(Result):
    """The user's batches, the newest first."""

    batches: list[BatchItem]
    has_more: bool


class BatchLine(Result):
    """One line of a batch."""

    index: int
    """From 0."""
    custom_id: str
    model: str
    status: LineStatus
    num_input_tokens: int
    num_output_tokens: int
    cost_nano: int | None
    """null: nothing was billed."""
    currency: str
    error: str
    """The reason why it has no answer; empty: it has one, has not ended, or its words were deleted."""
    traces: list[str]
    """Ids of its requests whose traces are there."""


class BatchDetail(BatchItem):
    """A batch with some of its lines."""

    lines: list[BatchLine]


class NewBatch(BatchItem):
    """A batch that has just begun."""

    num_checked: int
    """Lines whose bodies were read as a live call's. The others are read when they begin."""


def list_batches(request: HttpRequest, query: BatchesQuery) -> BatchList:
    """List 50 of the user's batches."""
    check_feature(key_of(request), only_reads=True)
    found = batches.page_of(user_id(request), key_of(request), _MOST_LISTED, after=query.after[:100] or None)
    return BatchList(batches=_items(found.rows), has_more=found.has_more)


@answers(201)
def create_batch(request: HttpRequest, file: Upload, key: Key | None) -> Answer[NewBatch]:
    """Begin a batch from a file of JSON Lines, in the form of either API. Its lines name API and address.

    400 with the first mistake and the number of its line: nothing is saved then. 413 `too_large`, `storage_full`; 422
    `key_reused`; 429 `too_many_batches`.
    """
    check_feature(key_of(request), only_reads=False)
    text = _text(file)
    if key is not None:
        key = read_key(request, "create_batch_of_text", {"text": text})
    try:
        brought = read_brought(text, user_id(request), key_of(request))
    except Mistaken as mistaken:
        raise ApiError(400, mistaken.code, str(mistaken), "file") from None
    done = batches.create(brought.batch, brought.lines, key)
    made = NewBatch(**_fields(done.made), num_checked=brought.num_checked)
    return Answer(made, is_repeat=done.is_repeat)


def show_batch(request: HttpRequest, batch_id: str, query: LinesQuery) -> BatchDetail:
    """Show a batch with 100 of its lines."""
    batch = _find(request, batch_id)
    if not -1 <= query.after < 1 << 31:
        raise ApiError(400, "invalid", "after is the index of a line, or -1.", "after")
    lines = batch.lines.filter(index__gt=query.after).defer("body", "answer").order_by("index")[:_MOST_LINES]
    return BatchDetail(**_fields(batch), lines=_lines(list(lines)))


def cancel_batch(request: HttpRequest, batch_id: str) -> BatchItem:
    """Let no further line begin. Those that are open run to their end."""
    return BatchItem(**_fields(batches.cancel(_find(request, batch_id))))


@answers(200, media="application/x-jsonl")
async def read_batch_results(request: HttpRequest, batch_id: str, query: ResultsQuery) -> StreamingHttpResponse:
    """Return the results that are there as JSON Lines, in the form of the batch's API."""
    batch = await sync_to_async(_find)(request, batch_id)
    response = StreamingHttpResponse(part_of(batch, StoredFile.Part(query.part)), content_type="application/x-jsonl")
    response["Content-Disposition"] = f'attachment; filename="{batch.pk}_{query.part}.jsonl"'
    return response


def _find(request: HttpRequest, batch_id: str) -> Batch:
    """Raises ApiError, OutOfScope."""
    key = key_of(request)
    check_feature(key, only_reads=request.method == "GET")
    batch = batches.find(user_id(request), key, batch_id[:100])
    if batch is None:
        raise not_found("batch")
    return batch


def _text(file: Upload) -> str:
    """Raises ApiError."""
    if (file.size or 0) > MAX_BATCH_BYTES:
        raise ApiError(413, "too_large", f"The file has more than {MAX_BATCH_BYTES >> 20} MiB. Make several.", "file")
    data = bytes(file.read())
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise ApiError(400, "invalid", f"Line {number:,}: it is not UTF-8 text. Save it as UTF-8.", "file") from None
    if (at := text.find("\x00")) >= 0:
        number = text.count("\n", 0, at) + 1
        raise ApiError(400, "invalid", f"Line {number:,}: it has a NUL character. Remove it.", "file")
    return text


def _items(rows: Sequence[Batch]) -> list[BatchItem]:
    counts, costs = counts_of(rows), costs_of(rows)
    return [BatchItem(**_shown(row, counts[row.pk], costs[row.pk])) for row in rows]


def _fields(batch: Batch) -> dict[str, Any]:
    return _shown(batch, counts_of([batch])[batch.pk], costs_of([batch])[batch.pk])


def _shown(batch: Batch, counts: Counts, costs: dict[str, int]) -> dict[str, Any]:
    is_waiting = batch.status == Batch.Status.IN_PROGRESS and counts.waiting and batch.resumes_at > timezone.now()
    return {
        "id": batch.pk,
        "family": batch.family,
        "endpoint": batch.endpoint,
        "models": batch.model_ids,
        "status": batch.status,
        "counts": LineCounts(**{name: getattr(counts, name) for name in LineCounts.__struct_fields__}),
        "costs": [Amount(currency, nano) for currency, nano in costs.items()],
        "key": None if batch.key is None else batch.key.name,
        "is_of_sign_in": batch.is_of_sign_in,
        "problem": _problem(batch),
        "created_at": batch.created_at,
        "ended_at": batch.ended_at,
        "expires_at": batch.expires_at,
        "waits_until": batch.resumes_at if is_waiting else None,
        "can_cancel": batch.status in _GOING,
    }


def _problem(batch: Batch) -> str:
    if not batch.errors:
        return ""
    first = batch.errors[0]
    return f"Line {first['line']}: {first['message']}" if first.get("line") else str(first["message"])


def _lines(lines: Sequence[Line]) -> list[BatchLine]:
    ids = [each for line in lines for each in line.request_ids]
    there = set(Request.objects.filter(pk__in=ids).values_list("pk", flat=True))
    return [_line(line, [each for each in line.request_ids if each in there]) for line in lines]


def _line(line: Line, traces: list[str]) -> BatchLine:
    names = (name for name in BatchLine.__struct_fields__ if name != "traces")
    return BatchLine(**{name: getattr(line, name) for name in names}, traces=traces)
