"""The addresses of the OpenAI-compatible API, below `/v1/`."""

from __future__ import annotations

from django.urls import path

from webapp.api.families.family import Family, view
from webapp.api.openai.batches.batch_views import cancel_batch, create_batch, list_batches, show_batch
from webapp.api.openai.batches.file_views import create_file, delete_file, list_files, read_content, show_file
from webapp.api.openai.chat_views import create_chat
from webapp.api.openai.completions_views import create_completion
from webapp.api.openai.embeddings import create_embeddings
from webapp.api.openai.errors import response
from webapp.api.openai.responses.input_items import list_input_items
from webapp.api.openai.responses.input_tokens import count_input_tokens
from webapp.api.openai.responses.views import cancel_response, create_response, delete_response, show_response
from webapp.usage.limits.headers import openai_headers

OPENAI = Family("openai", "x-request-id", lambda refusal, _request_id: response(refusal), openai_headers)

urlpatterns = [
    path("chat/completions", view(OPENAI, POST=create_chat)),
    path("completions", view(OPENAI, POST=create_completion)),
    path("embeddings", view(OPENAI, POST=create_embeddings)),
    path("files", view(OPENAI, GET=list_files, POST=create_file)),
    path("files/<str:file_id>", view(OPENAI, GET=show_file, DELETE=delete_file)),
    path("files/<str:file_id>/content", view(OPENAI, GET=read_content)),
    path("batches", view(OPENAI, GET=list_batches, POST=create_batch)),
    path("batches/<str:batch_id>", view(OPENAI, GET=show_batch)),
    path("batches/<str:batch_id>/cancel", view(OPENAI, POST=cancel_batch)),
    path("responses", view(OPENAI, POST=create_response)),
    path("responses/input_tokens", view(OPENAI, POST=count_input_tokens)),
    path("responses/<str:response_id>", view(OPENAI, GET=show_response, DELETE=delete_response)),
    path("responses/<str:response_id>/cancel", view(OPENAI, POST=cancel_response)),
    path("responses/<str:response_id>/input_items", view(OPENAI, GET=list_input_items)),
]
