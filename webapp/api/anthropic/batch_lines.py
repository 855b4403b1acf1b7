"""The results of a batch, in Anthropic's form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from inference.protocol.events import AnyEvent
from webapp.api.anthropic.call import call_of
from webapp.api.anthropic.errors import error_of
from webapp.api.anthropic.message_views import projection_of, whole
from webapp.api.anthropic.shapes import MessageBody
from webapp.api.view import refusal_of
from webapp.ground.gateway.body import decode_body
from webapp.ground.gateway.errors import ApiError
from webapp.identity.keys.models import ApiKey
from webapp.requests.models import Request
from webapp.surfaces.batches.form import Work
from webapp.surfaces.batches.models import Batch, Line


class Result(msgspec.Struct):
    """One line of the results."""

    custom_id: str
    result: dict[str, Any]


class AnthropicForm:
    """Reads and writes lines."""

    surface = "anthropic"
    has_files = False
    endpoints: tuple[str, ...] = ("/v1/messages",)
    id_prefix = "msgbatch"

    def work(self, batch: Batch, body: bytes, key: ApiKey | None) -> Work:
        given = decode_body(body, MessageBody)
        if given.stream:
            raise ApiError(400, "invalid", "A batch has no streams. Leave stream out.", "stream")
        if given.max_tokens == 0:
            message = "max_tokens: 0 reads a prompt into the cache for the next call, and is not for a batch."
            raise ApiError(400, "invalid", message, "max_tokens")
        return Work(call_of(given))

    def answer(
        self, batch: Batch, body: bytes, requests: Sequence[Request], events: Sequence[Sequence[AnyEvent]]
    ) -> Any:
        message = whole(projection_of(requests[0], decode_body(body, MessageBody)), events[0])
        message.usage.service_tier = "batch"
        return message

    def refusal(self, error: Exception) -> ApiError | None:
        return refusal_of(error)

    def succeeded(self, line: Line, request_id: str, answer: Any) -> bytes:
        return _written(line, {"type": "succeeded", "message": answer})

    def errored(self, line: Line, request_id: str, refusal: ApiError) -> bytes:
        return _written(line, {"type": "errored", "error": error_of(refusal, request_id)})

    def unrun(self, line: Line, status: Line.Status) -> bytes:
        return _written(line, {"type": status.value})


def _written(line: Line, result: dict[str, Any]) -> bytes:
    return msgspec.json.encode(Result(line.custom_id, result))
