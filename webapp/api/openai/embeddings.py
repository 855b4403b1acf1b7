"""`POST /v1/embeddings` by the bundled embedding model."""

from __future__ import annotations

import base64
from typing import Any, Literal

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse

from inference.safety.minilm import Floats
from webapp.api.families.described import described
from webapp.api.families.family import arrival_of, note_begun, traced
from webapp.api.openai.body import read
from webapp.api.openai.shapes import Shape
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.errors import ApiError, user_id
from webapp.ground.gateway.timing import ServerTiming
from webapp.identity.keys.keys import check_scope
from webapp.identity.keys.middleware import key_of
from webapp.models.registry.offered import EMBEDDING_MODEL
from webapp.surfaces.calls.embedding_call import Embedded, EmbeddingCall
from webapp.surfaces.calls.embeddings import DIMENSIONS, MAX_TEXTS


class EmbeddingsBody(Shape):
    """An embeddings call's body."""

    model: str
    input: str | tuple[Any, ...]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    user: str | None = None
    """Accepted, without an effect here."""


class Embedding(msgspec.Struct):
    index: int
    embedding: list[float] | str
    object: str = "embedding"


class Usage(msgspec.Struct):
    prompt_tokens: int
    total_tokens: int


class Embeddings(msgspec.Struct):
    data: list[Embedding]
    model: str
    usage: Usage
    object: str = "list"


@described(Embeddings, takes=EmbeddingsBody)
async def create_embeddings(http: HttpRequest) -> HttpResponse:
    """Embed one text or several."""
    timing = ServerTiming(http)
    body = read(http, EmbeddingsBody)
    check_scope(key_of(http), "embeddings", body.model)
    texts = texts_of(body)
    call = EmbeddingCall(texts, user_id(http), arrival_of(http, timing, "openai"))
    timing.mark("validate")
    await sync_to_async(call.admit)()
    timing.mark("admit")
    note_begun(http, [call.request])
    found = await call.answer(timing.mark)
    return traced(json_response(answer_of(body, found)), http, [call.request], timing, call.limits)  # type: ignore[no-any-return]


def texts_of(body: EmbeddingsBody) -> list[str]:
    """Raises ApiError."""
    if body.model != EMBEDDING_MODEL:
        message = f"The model {body.model[:100]!r} embeds no texts here; use {EMBEDDING_MODEL!r}."
        raise ApiError(404, "unknown_model", message, "model")
    if body.dimensions not in (None, DIMENSIONS):
        message = f"{EMBEDDING_MODEL} makes vectors of {DIMENSIONS} dimensions alone."
        raise ApiError(400, "invalid", message, "dimensions")
    given = [body.input] if isinstance(body.input, str) else list(body.input)
    if not 1 <= len(given) <= MAX_TEXTS:
        raise ApiError(400, "invalid", f"input has {len(given):,} texts; send 1 to {MAX_TEXTS:,}.", "input")
    for index, text in enumerate(given):
        _check(text, "input" if isinstance(body.input, str) else f"input[{index}]")
    return given


def _check(text: object, place: str) -> None:
    if isinstance(text, int | list):
        raise ApiError(400, "unsupported_value", f"{EMBEDDING_MODEL} takes texts, and no arrays of tokens.", place)
    if not isinstance(text, str):
        raise ApiError(400, "invalid", f"{place} must be a text.", place)
    if not text:
        raise ApiError(400, "invalid", f"{place} is empty. Send a text.", place)


def answer_of(body: EmbeddingsBody, found: Embedded) -> Embeddings:
    data = [Embedding(index, _written(body, vector)) for index, vector in enumerate(found.vectors)]
    return Embeddings(data, EMBEDDING_MODEL, Usage(found.num_tokens, found.num_tokens))


def _written(body: EmbeddingsBody, vector: Floats) -> list[float] | str:
    if body.encoding_format == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return vector.tolist()  # type: ignore[no-any-return]
