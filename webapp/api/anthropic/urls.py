"""The addresses of the Anthropic-compatible API, below `/v1/`."""

from __future__ import annotations

from django.urls import path

from webapp.api.anthropic.count_views import count_tokens
from webapp.api.anthropic.errors import response
from webapp.api.anthropic.message_views import create_message
from webapp.api.families.family import Family, view
from webapp.limits.headers import anthropic_headers

ANTHROPIC = Family("anthropic", "request-id", response, anthropic_headers)

urlpatterns = [
    path("messages", view(ANTHROPIC, POST=create_message)),
    path("messages/count_tokens", view(ANTHROPIC, POST=count_tokens)),
]
