"""Refusals in the form of the address, also of requests that reach no view. Knows nothing of their causes."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from webapp.api.anthropic.urls import ANTHROPIC
from webapp.api.families.family import Family
from webapp.api.openai.urls import OPENAI
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.ground.gateway.families import FAMILIES, is_of_family, without_recording

_MESSAGES = f"{FAMILIES}messages"
_VERSION = "anthropic-version"


def family_of(path: str, headers: Mapping[str, str]) -> Family:
    """Return the family whose client asks: each client of Anthropic's sends its version."""
    return ANTHROPIC if without_recording(path).startswith(_MESSAGES) or _VERSION in headers else OPENAI


def refused(path: str, headers: Mapping[str, str], refusal: ApiError) -> HttpResponse:
    """Return the answer to a refused request: in a family's form below /v1/, else in the site's own."""
    if not is_of_family(path):
        return refusal.response()
    family, request_id = family_of(path, headers), f"req_{uuid4().hex}"
    response = family.error_response(refusal, request_id)
    response[family.id_header] = request_id
    return response


def unknown(request: HttpRequest, **_: str) -> HttpResponseBase:
    """View of each address below /v1/ that no other one has."""
    return refused(request.path, request.headers, not_found("address"))


unknown.csrf_exempt = True  # type: ignore[attr-defined]  # it does nothing
