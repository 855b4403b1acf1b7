"""Takes the answers of a batch's lines, and ends lines without one. Each line ends once.

An answer is made from the saved trace, before anything deletes this.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from asgiref.sync import async_to_sync
from django.db import DatabaseError, connection, transaction

from inference.eventlog.clock import unix_us
from inference.protocol.events import AnyEvent
from webapp.ground.gateway.errors import ApiError
from webapp.identifiers import new_request_id
from webapp.lifecycle.settle import cost_of
from webapp.lifecycle.start import Arrival, sent_call
from webapp.models.billing.models import LedgerEntry
from webapp.requests.models import Request
from webapp.surfaces.batches.bounds import MAX_STORED_BYTES, add_stored, stored_bytes
from webapp.surfaces.batches.form import Embedding, form_of, passes_in_s
from webapp.surfaces.batches.models import MAX_ERROR_CHARS, Batch, Line
from webapp.surfaces.calls.embedding_call import EmbeddingCall
from webapp.traces.file.archive import TraceFileError
from webapp.traces.store import load_frames
from webapp.usage.limits.refusal import Refused

logger = logging.getLogger(__name__)

MAX_TRIES = 3
ANSWER_BYTES = 1 << 20
"""Room that a line finds before it begins. An answer takes less, unless it has the probabilities of many tokens."""
_LOST = ("no_worker", "worker_lost", "service_stopped", "overloaded", "queue_unavailable")
"""Failures that the call did not cause: the line runs again. A failed request costs nothing."""
_AT_ONCE = 200
_OUTCOME = (
    "request_ids",
    "num_input_tokens",
    "num_cached_tokens",
    "num_output_tokens",
    "cost_nano",
    "currency",
    "error",
)
"""Fields of a line that its end saves beside its answer."""
_INTERNAL = ApiError(500, "internal", "Something went wrong here; the server's log has the details.")
_DELETED = ApiError(404, "trace_deleted", "The answer was deleted before the batch took it.")
_FULL = ApiError(
    413, "storage_full", f"Your files and batches would have more than {MAX_STORED_BYTES >> 20} MiB. Delete some."
)


class Answering:
    """Ends the lines of one batch."""

    def __init__(self, batch: Batch) -> None:
        self._batch, self._form = batch, form_of(batch.family)

    def take(self) -> None:
        """Take the answers of all open lines whose requests have settled."""
        for line in self._batch.lines.filter(status=Line.Status.OPEN):
            found = Request.objects.in_bulk(line.request_ids)
            requests = [found[pk] for pk in line.request_ids if pk in found]
            if not all(request.is_settled for request in requests):
                continue
            if len(requests) < len(line.request_ids):
                _bill_by_ledger(line)
                self._fail(line, _first_id(line), _DELETED)
                continue
            try:
                self._take(line, requests)
            except TraceFileError as error:
                self.error(line, error)

    def check_room(self, num_bytes: int = ANSWER_BYTES) -> None:
        """Raises ApiError where an answer would find no room: it would be billed and then thrown away."""
        if stored_bytes(self._batch.user_id) + num_bytes > MAX_STORED_BYTES:
            raise _FULL

    def error(self, line: Line, error: Exception) -> None:
        """End a line that was refused, or that the server cannot begin."""
        refusal = self._form.refusal(error)
        if refusal is None:
            logger.error("%s failed", line, exc_info=error)
        self._fail(line, _first_id(line), refusal or _INTERNAL)

    def embed(self, line: Line, work: Embedding) -> None:
        """Compute a line of texts, and end it in the transaction of its bill. Raises ApiError, Refused, RedisError."""
        arrival = Arrival(
            unix_us(),
            self._form.surface,
            api_key=self._batch.key,
            batch_id=self._batch.pk,
            sent=sent_call(self._batch.endpoint, line.body.encode()),
        )
        call = EmbeddingCall(work.texts, self._batch.user_id, arrival)
        call.admit()
        try:
            found = async_to_sync(call.compute)()
            line.num_input_tokens = found.num_tokens
            answer = self._form.succeeded(line, call.request.pk, work.answer(found))
            self.check_room(len(answer) - line.num_bytes)
            call.save(lambda: self._end_embedded(line, call.request, answer))
        except (ApiError, Refused) as error:
            if passes_in_s(self._form, error):
                call.give_back()
            else:
                call.fail(error)
                line.request_ids = [call.request.pk]
            raise

    def _end_embedded(self, line: Line, request: Request, answer: bytes) -> None:
        _bill(line, [request])
        line.request_ids = [request.pk]
        self._end(line, Line.Status.SUCCEEDED, answer)

    def _take(self, line: Line, requests: Sequence[Request]) -> None:
        if line.num_tries < MAX_TRIES and all(request.error_code in _LOST for request in requests):
            _run_again(line)
            return
        _bill(line, requests)
        events = [_events(request) for request in requests]
        if not all(events):
            refusal: ApiError | None = _DELETED
        else:
            refusal = self._answer(line, requests, events)
        if refusal is not None:
            self._fail(line, requests[0].pk, refusal)

    def _answer(self, line: Line, requests: Sequence[Request], events: Sequence[Sequence[AnyEvent]]) -> ApiError | None:
        """End the line with its answer, or return the reason why it has none."""
        try:
            answer = self._form.answer(self._batch, line.body.encode(), requests, events)
        except ApiError as refusal:
            return refusal
        _count(line, requests)
        self._end(line, Line.Status.SUCCEEDED, self._form.succeeded(line, requests[0].pk, answer))
        return None

    def _fail(self, line: Line, request_id: str, refusal: ApiError) -> None:
        line.error = _in_words(refusal)
        self._end(line, Line.Status.ERRORED, self._form.errored(line, request_id, refusal))

    def _end(self, line: Line, status: Line.Status, answer: bytes) -> None:
        """End a line as it was read. One that another process has ended since stays as it is.

        Raises DatabaseError then within a transaction, whose other rows are not to be saved.
        """
        num_more = len(answer) - line.num_bytes
        if num_more > 0 and stored_bytes(self._batch.user_id) + num_more > MAX_STORED_BYTES:
            line.error = _in_words(_FULL)
            status, answer = Line.Status.ERRORED, self._form.errored(line, _first_id(line), _FULL)
        with transaction.atomic():
            ended = Line.objects.filter(pk=line.pk, status=line.status).update(
                status=status,
                answer=answer.decode(),
                num_bytes=len(answer),
                body="",
                **{name: getattr(line, name) for name in _OUTCOME},
            )
            if ended:
                add_stored(self._batch.pk, len(answer) - line.num_bytes)
        if not ended and connection.in_atomic_block:
            raise DatabaseError(f"{line} was ended meanwhile")


def end_waiting(batch: Batch, status: Line.Status, refusal: ApiError | None = None) -> None:
    """End all lines that have not begun. refusal: the reason of an error."""
    form = form_of(batch.family)
    while ids := list(batch.lines.filter(status=Line.Status.WAITING).values_list("pk", flat=True)[:_AT_ONCE]):
        with transaction.atomic():
            # A line that began meanwhile runs to its end.
            still = Line.objects.select_for_update().filter(pk__in=ids, status=Line.Status.WAITING)
            lines, num_more = list(still), 0
            for line in lines:
                answer = form.unrun(line, status) if refusal is None else form.errored(line, new_request_id(), refusal)
                num_more += len(answer) - line.num_bytes
                line.status, line.answer, line.body, line.num_bytes = status, answer.decode(), "", len(answer)
                line.error = "" if refusal is None else _in_words(refusal)
            Line.objects.bulk_update(lines, ["status", "answer", "body", "num_bytes", "error"])
            add_stored(batch.pk, num_more)


def _run_again(line: Line) -> None:
    Line.objects.filter(pk=line.pk, status=Line.Status.OPEN, num_tries=line.num_tries).update(
        status=Line.Status.WAITING, request_ids=[]
    )


def _events(request: Request) -> list[AnyEvent]:
    """The events of a settled request; none where its trace was deleted."""
    return [event for frame in load_frames(request.pk) for event in frame.events]


def _count(line: Line, requests: Sequence[Request]) -> None:
    for request in requests:
        line.num_input_tokens += request.num_input_tokens or 0
        line.num_output_tokens += request.num_output_tokens or 0
        line.num_cached_tokens += (request.usage or {}).get("cache_read", 0)


def _bill(line: Line, requests: Sequence[Request]) -> None:
    """Give the line what its requests cost, with or without an answer. All are of one model."""
    costs = [request.cost_nano for request in requests if request.cost_nano is not None]
    line.cost_nano = sum(costs) if costs else None
    line.currency = next((request.currency for request in requests if request.currency), "")


def _bill_by_ledger(line: Line) -> None:
    """The same from the ledger, which keeps the entries of deleted requests."""
    costs = [cost_of(entry) for entry in LedgerEntry.objects.filter(request_id__in=line.request_ids)]
    known = [cost.total_nano for cost in costs if cost.total_nano is not None]
    line.cost_nano = sum(known) if known else None
    line.currency = next((cost.currency for cost in costs if cost.currency), "")


def _in_words(refusal: ApiError) -> str:
    return refusal.message[:MAX_ERROR_CHARS]


def _first_id(line: Line) -> str:
    return line.request_ids[0] if line.request_ids else new_request_id()
