"""The addresses of the Anthropic-compatible API, below `/v1/`."""

from __future__ import annotations

from django.urls import path

from webapp.api.anthropic.count_views import count_tokens
from webapp.api.anthropic.errors import response
from webapp.api.anthropic.message_views import create_message
from webapp.api.families.family import Family, view

ANTHROPIC = Family("anthropic", "request-id", response)

urlpatterns = [
    path("messages", view(ANTHROPIC, POST=create_message)),
    path("messages/count_tokens", view(ANTHROPIC, POST=count_tokens)),
]
