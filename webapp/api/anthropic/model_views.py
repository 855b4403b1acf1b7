"""`GET /v1/models` for Anthropic's clients: the models that are offered."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse

from webapp.api.anthropic.models import Model, ModelList, OfferedModel, anthropic_model, anthropic_models
from webapp.api.families.described import described
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.errors import ApiError
from webapp.models.billing.naming import model_names
from webapp.models.registry.models import RegisteredModel
from webapp.models.registry.offered import enabled
from webapp.requests import services


@described(ModelList)
async def list_models(_http: HttpRequest) -> HttpResponse:
    """List the models that are offered."""
    return json_response(anthropic_models(await sync_to_async(_offered)()))


@described(Model)
async def show_model(_http: HttpRequest, model: str) -> HttpResponse:
    """Show one model."""
    found = next((each for each in await sync_to_async(_offered)() if each.id == model), None)
    if found is None:
        raise ApiError(404, "unknown_model", f"The model {model[:100]!r} does not exist here.", "model")
    return json_response(anthropic_model(found))


def _offered() -> list[OfferedModel]:
    names = model_names()
    return [OfferedModel(row.pk, names.get(row.pk, row.pk), _window(row)) for row in enabled()]


def _window(model: RegisteredModel) -> int | None:
    found = services.services_of(model)
    return None if found is None else found.window
