"""The addresses of the Anthropic-compatible API, below `/v1/`."""

from __future__ import annotations

from django.urls import path

from webapp.api.anthropic.batch_views import (
    cancel_batch,
    create_batch,
    delete_batch,
    list_batches,
    read_results,
    show_batch,
)
from webapp.api.anthropic.count_views import count_tokens
from webapp.api.anthropic.errors import response
from webapp.api.anthropic.message_views import create_message
from webapp.api.families.family import Family, view
from webapp.usage.limits.headers import anthropic_headers

ANTHROPIC = Family("anthropic", "request-id", response, anthropic_headers)

urlpatterns = [
    path("messages", view(ANTHROPIC, POST=create_message)),
    path("messages/count_tokens", view(ANTHROPIC, POST=count_tokens)),
    path("messages/batches", view(ANTHROPIC, GET=list_batches, POST=create_batch)),
    path("messages/batches/<str:batch_id>", view(ANTHROPIC, GET=show_batch, DELETE=delete_batch)),
    path("messages/batches/<str:batch_id>/cancel", view(ANTHROPIC, POST=cancel_batch)),
    path("messages/batches/<str:batch_id>/results", view(ANTHROPIC, GET=read_results)),
]
