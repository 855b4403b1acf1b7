"""`GET /v1/models`: the models that are offered, and the bundled embedding model."""

from __future__ import annotations

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse

from webapp.api.families.described import described
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.errors import ApiError
from webapp.models.registry.models import RegisteredModel
from webapp.models.registry.offered import EMBEDDING_MODEL, enabled


class Model(msgspec.Struct):
    id: str
    created: int
    owned_by: str
    object: str = "model"


class ModelList(msgspec.Struct):
    data: list[Model]
    object: str = "list"


@described(ModelList)
async def list_models(_http: HttpRequest) -> HttpResponse:
    """List the models that are offered."""
    rows = await sync_to_async(enabled)()
    return json_response(ModelList([*map(_model, rows), _EMBEDDING]))


@described(Model)
async def show_model(_http: HttpRequest, model: str) -> HttpResponse:
    """Show one model."""
    row = next((each for each in await sync_to_async(enabled)() if each.pk == model), None)
    if row is not None:
        return json_response(_model(row))
    if model == EMBEDDING_MODEL:
        return json_response(_EMBEDDING)
    raise ApiError(404, "unknown_model", f"The model {model[:100]!r} does not exist here.", "model")


def _model(row: RegisteredModel) -> Model:
    return Model(row.pk, 0 if row.checked_at is None else int(row.checked_at.timestamp()), "sightglass")


_EMBEDDING = Model(EMBEDDING_MODEL, 0, "sentence-transformers")
