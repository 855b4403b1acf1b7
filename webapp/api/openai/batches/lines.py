"""The lines of a batch's result files, in OpenAI's form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from inference.protocol.events import AnyEvent
from webapp.api.openai.batches.endpoints import ENDPOINTS
from webapp.api.openai.errors import error_of
from webapp.api.view import refusal_of
from webapp.ground.gateway.errors import ApiError
from webapp.identity.keys.models import ApiKey
from webapp.requests.models import Request
from webapp.surfaces.batches.form import Embedding, Work
from webapp.surfaces.batches.models import Batch, Line

_UNRUN = {
    Line.Status.CANCELED: ("batch_cancelled", "The batch was cancelled before this line began."),
    Line.Status.EXPIRED: ("batch_expired", "The time of the batch was over before this line began."),
}


class Answered(msgspec.Struct):
    """The answer that the line's own call would have had."""

    status_code: int
    request_id: str
    """The request by which the line's trace is found."""
    body: Any


class Unrun(msgspec.Struct):
    """The reason why the line did not begin."""

    code: str
    message: str


class Result(msgspec.Struct):
    """One line of a result file."""

    id: str
    custom_id: str
    response: Answered | None
    error: Unrun | None = None


class OpenAIForm:
    """Reads and writes lines."""

    surface = "openai"
    has_files = True
    endpoints = tuple(ENDPOINTS)
    id_prefix = "batch"

    def work(self, batch: Batch, body: bytes, key: ApiKey | None) -> Work | Embedding:
        return ENDPOINTS[batch.endpoint].work(body, batch.user_id, key)

    def answer(
        self, batch: Batch, body: bytes, requests: Sequence[Request], events: Sequence[Sequence[AnyEvent]]
    ) -> Any:
        return ENDPOINTS[batch.endpoint].answer(body, requests, events)

    def refusal(self, error: Exception) -> ApiError | None:
        return refusal_of(error)

    def succeeded(self, line: Line, request_id: str, answer: Any) -> bytes:
        return _written(line, Answered(200, request_id, answer))

    def errored(self, line: Line, request_id: str, refusal: ApiError) -> bytes:
        return _written(line, Answered(refusal.status, request_id, error_of(refusal)))

    def unrun(self, line: Line, status: Line.Status) -> bytes:
        return _written(line, None, Unrun(*_UNRUN[status]))


def _written(line: Line, response: Answered | None, error: Unrun | None = None) -> bytes:
    return msgspec.json.encode(Result(f"batch_req_{line.pk}", line.custom_id, response, error))
