"""`/v1/batches`: create, list, show and cancel."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from webapp.api.families.described import described
from webapp.api.openai.batches.endpoints import ENDPOINTS
from webapp.api.openai.batches.file_views import checked_expiry
from webapp.api.openai.batches.file_views import find as find_file
from webapp.api.openai.batches.pages import Page, check_limit, not_listed
from webapp.api.openai.body import read
from webapp.api.openai.responses.parse import check_metadata
from webapp.api.openai.shapes import Shape
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.body import read_query
from webapp.ground.gateway.errors import ApiError, user_id
from webapp.ground.gateway.idempotency import REPLAYED, read_key
from webapp.identifiers import new_id
from webapp.identity.keys.middleware import key_of
from webapp.surfaces.batches import batches
from webapp.surfaces.batches.batches import Counts, check_feature, counts_of
from webapp.surfaces.batches.models import Batch, StoredFile

_WINDOW = "24h"
_CANCELLABLE = (Batch.Status.VALIDATING, Batch.Status.IN_PROGRESS, Batch.Status.CANCELLING)


class Expiry(Shape):
    """The time for which result files are kept."""

    anchor: Literal["created_at"]
    seconds: int


class BatchBody(Shape):
    """A new batch's body."""

    input_file_id: str
    endpoint: str
    completion_window: str
    metadata: dict[str, str] | None = None
    output_expires_after: Expiry | None = None


class BatchesQuery(msgspec.Struct):
    """Which batches."""

    after: str | None = None
    limit: int = 20


class RequestCounts(msgspec.Struct):
    total: int
    completed: int
    failed: int


class Usage(msgspec.Struct):
    """Tokens of all answers."""

    input_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens: int
    output_tokens_details: dict[str, int]
    total_tokens: int


class ErrorList(msgspec.Struct):
    data: list[dict[str, Any]]
    object: str = "list"


class BatchObject(msgspec.Struct):
    """A batch as the client sees it."""

    id: str
    endpoint: str
    input_file_id: str
    status: str
    created_at: int
    model: str | None
    errors: ErrorList | None
    output_file_id: str | None
    error_file_id: str | None
    in_progress_at: int | None
    expires_at: int | None
    finalizing_at: int | None
    completed_at: int | None
    failed_at: int | None
    expired_at: int | None
    cancelling_at: int | None
    cancelled_at: int | None
    request_counts: RequestCounts
    usage: Usage
    metadata: dict[str, str] | None
    completion_window: str = _WINDOW
    object: str = "batch"


@described(BatchObject, takes=BatchBody, begins_work=True)
async def create_batch(http: HttpRequest) -> HttpResponseBase:
    """Run the calls of a file."""
    return await sync_to_async(_create)(http, read(http, BatchBody))


@described(Page[BatchObject], query=BatchesQuery)
async def list_batches(http: HttpRequest) -> HttpResponseBase:
    """List the user's batches, the newest first."""
    return json_response(await sync_to_async(_page)(http, read_query(http, BatchesQuery)))


@described(BatchObject)
async def show_batch(http: HttpRequest, batch_id: str) -> HttpResponseBase:
    """Show a batch as far as it is."""
    return json_response(await sync_to_async(lambda: _one(_find(http, batch_id)))())


@described(BatchObject)
async def cancel_batch(http: HttpRequest, batch_id: str) -> HttpResponseBase:
    """Let no further line of a batch begin."""
    return json_response(await sync_to_async(lambda: _cancelled(_find(http, batch_id)))())


def _create(http: HttpRequest, body: BatchBody) -> HttpResponseBase:
    check_feature(key_of(http), only_reads=False)
    _check(body)
    key = read_key(http, "create_batch", {"body": body})
    file = find_file(http, body.input_file_id)
    if file.batch_id is not None:
        raise ApiError(400, "invalid", "The file has results; send one with the purpose 'batch'.", "input_file_id")
    expiry = body.output_expires_after
    batch = Batch(
        id=new_id("batch"),
        user_id=user_id(http),
        key=key_of(http),
        family="openai",
        endpoint=body.endpoint,
        input_file=file.pk,
        metadata=body.metadata,
        output_expires_s=checked_expiry(expiry.seconds if expiry else None, "output_expires_after"),
    )
    done = batches.create(batch, [], key)
    response = json_response(_one(done.made))
    if done.is_repeat:
        response[REPLAYED] = "true"
    return response


def _check(body: BatchBody) -> None:
    """Raises ApiError."""
    if body.completion_window != _WINDOW:
        raise ApiError(400, "invalid", f"completion_window must be {_WINDOW}.", "completion_window")
    if body.endpoint not in ENDPOINTS:
        raise ApiError(400, "invalid", f"endpoint must be one of: {', '.join(ENDPOINTS)}.", "endpoint")
    check_metadata(body.metadata or {})


def _find(http: HttpRequest, batch_id: str) -> Batch:
    """Raises ApiError, OutOfScope."""
    key = key_of(http)
    check_feature(key, only_reads=http.method == "GET")
    batch = batches.find(user_id(http), key, batch_id[:100], "openai")
    if batch is None:
        raise ApiError(404, "not_found", f"No batch found with id '{batch_id[:100]}'.", "id")
    return batch


def _cancelled(batch: Batch) -> BatchObject:
    if batch.status not in _CANCELLABLE:
        raise ApiError(409, "invalid", f"Cannot cancel a batch with status '{batch.status}'.")
    return _one(batches.cancel(batch))


def _page(http: HttpRequest, query: BatchesQuery) -> Page[BatchObject]:
    check_feature(key_of(http), only_reads=True)
    check_limit(query.limit, 100)
    owner, key = user_id(http), key_of(http)
    if query.after is not None and batches.find(owner, key, query.after[:100], "openai") is None:
        raise not_listed(query.after)
    found = batches.page_of(owner, key, query.limit, family="openai", after=query.after)
    return Page.of(_all(found.rows), found.has_more)


def _one(batch: Batch) -> BatchObject:
    return _all([batch])[0]


def _all(rows: Sequence[Batch]) -> list[BatchObject]:
    counts = counts_of(rows)
    files = {(each.batch_id, each.part): each.pk for each in StoredFile.objects.filter(batch__in=rows)}
    return [_shown(row, counts[row.pk], files) for row in rows]


def _shown(batch: Batch, counts: Counts, files: dict[tuple[str | None, str], str]) -> BatchObject:
    def ended(status: Batch.Status) -> int | None:
        return _seconds(batch.ended_at) if batch.status == status else None

    return BatchObject(
        id=batch.pk,
        endpoint=batch.endpoint,
        input_file_id=batch.input_file,
        status=batch.status,
        created_at=int(batch.created_at.timestamp()),
        model=batch.model_ids[0] if len(batch.model_ids) == 1 else None,
        errors=ErrorList(batch.errors) if batch.errors else None,
        output_file_id=files.get((batch.pk, StoredFile.Part.OUTPUT)),
        error_file_id=files.get((batch.pk, StoredFile.Part.ERRORS)),
        in_progress_at=_seconds(batch.in_progress_at),
        expires_at=_seconds(batch.expires_at),
        finalizing_at=_seconds(batch.finalizing_at),
        completed_at=ended(Batch.Status.COMPLETED),
        failed_at=ended(Batch.Status.FAILED),
        expired_at=ended(Batch.Status.EXPIRED),
        cancelling_at=_seconds(batch.cancelling_at),
        cancelled_at=ended(Batch.Status.CANCELLED),
        request_counts=RequestCounts(counts.total, counts.succeeded, counts.errored),
        usage=_usage(counts),
        metadata=batch.metadata,
    )


def _usage(counts: Counts) -> Usage:
    return Usage(
        input_tokens=counts.input_tokens,
        input_tokens_details={"cached_tokens": counts.cached_tokens},
        output_tokens=counts.output_tokens,
        output_tokens_details={"reasoning_tokens": 0},
        total_tokens=counts.input_tokens + counts.output_tokens,
    )


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())
