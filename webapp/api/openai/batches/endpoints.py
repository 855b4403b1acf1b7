"""The addresses to which a batch's lines may go: how each reads a body, and makes the answer of a live call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from inference.protocol.events import AnyEvent
from webapp.api.openai import chat, chat_views, completions, completions_views
from webapp.api.openai.body import decode
from webapp.api.openai.embeddings import EmbeddingsBody, answer_of, texts_of
from webapp.api.openai.responses import parse, views
from webapp.api.openai.responses.head import projection_of
from webapp.api.openai.responses.shapes import ResponseBody
from webapp.api.openai.shapes import ChatBody
from webapp.ground.gateway.errors import ApiError
from webapp.identity.keys.keys import check_scope
from webapp.identity.keys.models import ApiKey
from webapp.requests.models import Request
from webapp.surfaces.batches.form import Embedding, Work

Events = Sequence[Sequence[AnyEvent]]


class Endpoint(Protocol):
    """One address."""

    def work(self, body: bytes, user_id: int, key: ApiKey | None) -> Work | Embedding:
        """Read a line. Raises what the live call raises."""

    def answer(self, body: bytes, requests: Sequence[Request], events: Events) -> Any:
        """Make the answer. Raises ApiError where a request failed."""


class Chat:
    def work(self, body: bytes, user_id: int, key: ApiKey | None) -> Work:
        given = decode(body, ChatBody)
        _check_whole(given.stream)
        return Work(chat.call_of(given))

    def answer(self, body: bytes, requests: Sequence[Request], events: Events) -> Any:
        return chat_views.completion_of(chat_views.projections_of(decode(body, ChatBody), requests), events)


class Completions:
    def work(self, body: bytes, user_id: int, key: ApiKey | None) -> Work:
        given = decode(body, completions.CompletionsBody)
        _check_whole(given.stream)
        return Work(completions.plain_call_of(given))

    def answer(self, body: bytes, requests: Sequence[Request], events: Events) -> Any:
        given = decode(body, completions.CompletionsBody)
        return completions_views.completion_of(given, completions_views.projections_of(given, requests), events)


class Responses:
    def work(self, body: bytes, user_id: int, key: ApiKey | None) -> Work:
        given = decode(body, ResponseBody)
        _check_whole(given.stream)
        if given.background:
            raise ApiError(400, "invalid", "A batch runs in the background itself. Leave background out.", "background")
        call = parse.call_of(given, user_id, key)
        return Work(call, save=lambda requests: views.store_if_wanted(given, requests[0]))

    def answer(self, body: bytes, requests: Sequence[Request], events: Events) -> Any:
        return views.whole(projection_of(requests[0], decode(body, ResponseBody)), events[0])


class Embeddings:
    def work(self, body: bytes, user_id: int, key: ApiKey | None) -> Embedding:
        given = decode(body, EmbeddingsBody)
        check_scope(key, "batches", given.model)
        return Embedding(texts_of(given), lambda found: answer_of(given, found))

    def answer(self, body: bytes, requests: Sequence[Request], events: Events) -> Any:
        raise AssertionError("an embedding is answered when it is computed")


ENDPOINTS: dict[str, Endpoint] = {
    "/v1/chat/completions": Chat(),
    "/v1/completions": Completions(),
    "/v1/responses": Responses(),
    "/v1/embeddings": Embeddings(),
}


def _check_whole(stream: bool | None) -> None:
    if stream:
        raise ApiError(400, "invalid", "A batch has no streams. Leave stream out.", "stream")
