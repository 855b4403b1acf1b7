"""The addresses below `/v1/`. Those that both families have choose by the header that each Anthropic client sends."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import include, path

from webapp.api.anthropic import model_views
from webapp.api.anthropic.urls import ANTHROPIC
from webapp.api.families.family import view
from webapp.api.families.refusals import family_of, unknown
from webapp.api.openai import models
from webapp.api.openai.urls import OPENAI
from webapp.ground.gateway.errors import View


def _either(openai: Any, anthropic: Any) -> View:
    async def run(request: HttpRequest, **parameters: Any) -> HttpResponseBase:
        chosen = anthropic if family_of(request.path, request.headers) is ANTHROPIC else openai
        response: HttpResponseBase = await chosen(request, **parameters)
        return response

    run.csrf_exempt = True  # type: ignore[attr-defined]
    run.by_family = openai.by_family | anthropic.by_family  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]  # the stubs of Django's `path` know no view that waits


urlpatterns = [
    path("models", _either(view(OPENAI, GET=models.list_models), view(ANTHROPIC, GET=model_views.list_models))),
    path(
        "models/<path:model>",
        _either(view(OPENAI, GET=models.show_model), view(ANTHROPIC, GET=model_views.show_model)),
    ),
    path("", include("webapp.api.openai.urls")),
    path("", include("webapp.api.anthropic.urls")),
    path("<path:rest>", unknown),
    path("", unknown),
]
