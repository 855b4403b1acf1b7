"""The page that describes the API and tries it, the document that it reads, and the schema of the events."""

from __future__ import annotations

from functools import cache

import msgspec
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from inference.protocol.json_schema import build_schema
from webapp.api.docs.openapi import build_openapi
from webapp.ground.gateway.page import built


@require_safe
def document(_request: HttpRequest) -> HttpResponse:
    """GET /api/openapi.json: the OpenAPI document, the same for every user."""
    return HttpResponse(_document(), content_type="application/json")


@cache
def _document() -> bytes:
    return msgspec.json.encode(build_openapi())


@require_safe
def protocol_schema(_request: HttpRequest) -> HttpResponse:
    """GET /api/protocol.schema.json: JSON Schema of all events and requests, the same for every user."""
    return HttpResponse(_protocol_schema(), content_type="application/schema+json")


@cache
def _protocol_schema() -> bytes:
    return msgspec.json.encode(build_schema())


@require_safe
@login_required
@ensure_csrf_cookie
def viewer(request: HttpRequest) -> HttpResponse:
    """GET /api/docs: Swagger UI on the document, with the reader's own session."""
    entry = built("src/api-docs.ts")
    if entry is None:
        return render(request, "unbuilt.html", status=503)
    return render(request, "shell.html", entry)
