"""The addresses of the OpenAI-compatible API, below `/v1/`."""

from __future__ import annotations

from django.urls import path

from webapp.api.families.family import Family, view
from webapp.api.openai.chat_views import create_chat
from webapp.api.openai.errors import response

OPENAI = Family("openai", "x-request-id", lambda refusal, _request_id: response(refusal))

urlpatterns = [
    path("chat/completions", view(OPENAI, POST=create_chat)),
]
