"""`/v1/messages/batches`: create, list, show, cancel, delete and read the results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from webapp.api.anthropic.batch_lines import Result
from webapp.api.anthropic.shapes import Shape
from webapp.api.families.described import described
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.body import read_body, read_query
from webapp.ground.gateway.errors import ApiError, user_id
from webapp.ground.gateway.idempotency import REPLAYED, read_key
from webapp.identifiers import new_id
from webapp.identity.keys.middleware import key_of
from webapp.surfaces.batches import batches, files
from webapp.surfaces.batches.batches import Counts, check_feature, counts_of
from webapp.surfaces.batches.bounds import MAX_BATCH_BYTES, MAX_LINES
from webapp.surfaces.batches.models import Batch
from webapp.surfaces.batches.reading import ReadLine, model_in

_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ENDED = (Batch.Status.COMPLETED, Batch.Status.CANCELLED, Batch.Status.EXPIRED, Batch.Status.FAILED)


class Item(Shape):
    """One message of the batch. Its params are read when it begins: what is wrong with them is its own error."""

    custom_id: str
    params: msgspec.Raw


class BatchBody(Shape):
    """A new batch's body."""

    requests: tuple[Item, ...]
    user_profile_id: str | None = None
    """Accepted, without an effect here."""


class BatchesQuery(msgspec.Struct):
    """Which batches."""

    before_id: str | None = None
    after_id: str | None = None
    limit: int = 20


class RequestCounts(msgspec.Struct):
    processing: int
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0


class MessageBatch(msgspec.Struct, tag="message_batch"):
    """A batch as the client sees it."""

    id: str
    processing_status: Literal["in_progress", "canceling", "ended"]
    request_counts: RequestCounts
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    cancel_initiated_at: datetime | None
    results_url: str | None
    archived_at: datetime | None = None


class BatchList(msgspec.Struct):
    data: list[MessageBatch]
    has_more: bool
    first_id: str | None
    last_id: str | None


class Deleted(msgspec.Struct, tag="message_batch_deleted"):
    id: str


@described(MessageBatch, takes=BatchBody, begins_work=True)
async def create_batch(http: HttpRequest) -> HttpResponseBase:
    """Answer many messages while the engine is idle."""
    return await sync_to_async(_create)(http, read_body(http, BatchBody, MAX_BATCH_BYTES))


@described(BatchList, query=BatchesQuery)
async def list_batches(http: HttpRequest) -> HttpResponseBase:
    """List the user's batches, the newest first."""
    return json_response(await sync_to_async(_page)(http, read_query(http, BatchesQuery)))


@described(MessageBatch)
async def show_batch(http: HttpRequest, batch_id: str) -> HttpResponseBase:
    """Show a batch as far as it is."""
    return json_response(await sync_to_async(lambda: _one(http, _find(http, batch_id)))())


@described(MessageBatch)
async def cancel_batch(http: HttpRequest, batch_id: str) -> HttpResponseBase:
    """Let no further message of a batch begin."""
    return json_response(await sync_to_async(lambda: _one(http, batches.cancel(_find(http, batch_id))))())


@described(Deleted)
async def delete_batch(http: HttpRequest, batch_id: str) -> HttpResponseBase:
    """Delete a batch that has ended, with its results. The traces stay in the user's library."""
    await sync_to_async(lambda: _ended(_find(http, batch_id)).delete())()
    return json_response(Deleted(batch_id))


@described(Result, is_lines=True)
async def read_results(http: HttpRequest, batch_id: str) -> HttpResponseBase:
    """Return the results as JSON Lines."""
    batch = await sync_to_async(lambda: _ended(_find(http, batch_id)))()
    return StreamingHttpResponse(files.results_of(batch), content_type="application/x-jsonl")


def _create(http: HttpRequest, body: BatchBody) -> HttpResponseBase:
    check_feature(key_of(http), only_reads=False)
    lines = _lines(body)
    key = read_key(http, "create_message_batch", {"body": body})
    batch = Batch(
        id=new_id("msgbatch"),
        user_id=user_id(http),
        key=key_of(http),
        family="anthropic",
        endpoint="/v1/messages",
    )
    done = batches.create(batch, lines, key)
    response = json_response(_one(http, done.made))
    if done.is_repeat:
        response[REPLAYED] = "true"
    return response


def _lines(body: BatchBody) -> list[ReadLine]:
    """Raises ApiError."""
    if not 1 <= len(body.requests) <= MAX_LINES:
        message = f"requests has {len(body.requests):,} messages; send 1 to {MAX_LINES:,}."
        raise ApiError(400, "invalid", message, "requests")
    lines, places = list[ReadLine](), dict[str, int]()
    for index, item in enumerate(body.requests):
        place = f"requests.{index}.custom_id"
        if _CUSTOM_ID.fullmatch(item.custom_id) is None:
            raise ApiError(400, "invalid", f"{place} must have 1 to 64 letters, digits, '_' and '-'.", place)
        if (before := places.setdefault(item.custom_id, index)) != index:
            raise ApiError(400, "invalid", f"{place} is that of requests.{before} too. Each is used once.", place)
        lines.append(_line(item, index))
    return lines


def _line(item: Item, index: int) -> ReadLine:
    try:
        params = bytes(item.params).decode()
    except UnicodeDecodeError:  # the JSON decoder leaves a part that it does not read unchecked
        message = f"requests.{index}.params is not valid UTF-8. Send valid Unicode."
        raise ApiError(400, "invalid_json", message, f"requests.{index}.params") from None
    if not params.lstrip().startswith("{"):
        raise ApiError(400, "invalid", f"requests.{index}.params must be an object.", f"requests.{index}.params")
    return ReadLine(item.custom_id, model_in(params), params)


def _find(http: HttpRequest, batch_id: str) -> Batch:
    """Raises ApiError, OutOfScope."""
    key = key_of(http)
    check_feature(key, only_reads=http.method == "GET")
    batch = batches.find(user_id(http), key, batch_id[:100], "anthropic")
    if batch is None:
        raise ApiError(404, "not_found", f"There is no message batch {batch_id[:100]!r}.")
    return batch


def _ended(batch: Batch) -> Batch:
    """Raises ApiError."""
    if batch.status not in _ENDED:
        raise ApiError(400, "invalid", "The batch has not ended. Wait until its processing_status is 'ended'.")
    return batch


def _page(http: HttpRequest, query: BatchesQuery) -> BatchList:
    check_feature(key_of(http), only_reads=True)
    if not 1 <= query.limit <= 1000:
        raise ApiError(400, "invalid", "limit must be from 1 to 1,000.", "limit")
    found = batches.page_of(
        user_id(http),
        key_of(http),
        query.limit,
        family="anthropic",
        after=query.after_id and query.after_id[:100],
        before=query.before_id and query.before_id[:100],
    )
    data = _all(http, found.rows)
    return BatchList(data, found.has_more, data[0].id if data else None, data[-1].id if data else None)


def _one(http: HttpRequest, batch: Batch) -> MessageBatch:
    return _all(http, [batch])[0]


def _all(http: HttpRequest, rows: Sequence[Batch]) -> list[MessageBatch]:
    counts = counts_of(rows)
    return [_shown(http, row, counts[row.pk]) for row in rows]


def _shown(http: HttpRequest, batch: Batch, counts: Counts) -> MessageBatch:
    has_ended = batch.status in _ENDED
    return MessageBatch(
        id=batch.pk,
        processing_status=_status(batch),
        request_counts=_counts(counts, has_ended),
        created_at=batch.created_at,
        expires_at=batch.expires_at,
        ended_at=batch.ended_at,
        cancel_initiated_at=batch.cancelling_at,
        results_url=http.build_absolute_uri(f"/v1/messages/batches/{batch.pk}/results") if has_ended else None,
    )


def _status(batch: Batch) -> Literal["in_progress", "canceling", "ended"]:
    if batch.status in _ENDED:
        return "ended"
    return "canceling" if batch.status == Batch.Status.CANCELLING else "in_progress"


def _counts(counts: Counts, has_ended: bool) -> RequestCounts:
    """All count as processing until the batch has ended, as Anthropic's do."""
    if not has_ended:
        return RequestCounts(counts.total)
    return RequestCounts(0, counts.succeeded, counts.errored, counts.canceled, counts.expired)
