"""Errors in OpenAI's form. Knows nothing of their causes."""

from __future__ import annotations

import msgspec
from django.http import HttpResponse

from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.errors import ApiError

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
_CODES = {
    "not_signed_in": "invalid_api_key",
    "unknown_key": "invalid_api_key",
    "expired_key": "invalid_api_key",
    "revoked_key": "invalid_api_key",
    "unknown_model": "model_not_found",
    "prompt_too_long": "context_length_exceeded",
    "rate_limited": "rate_limit_exceeded",
    "too_many_requests": "rate_limit_exceeded",
    "day_used_up": "insufficient_quota",
    "budget_used_up": "insufficient_quota",
    "invalid": None,
}


class Error(msgspec.Struct):
    """The reason of a refusal."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorAnswer(msgspec.Struct):
    error: Error


def error_of(refusal: ApiError) -> ErrorAnswer:
    """Return the refusal in OpenAI's form."""
    usual = "server_error" if refusal.status >= 500 else "invalid_request_error"
    code = _CODES.get(refusal.code, refusal.code)
    return ErrorAnswer(Error(refusal.message, _TYPES.get(refusal.status, usual), refusal.field, code))


def response(refusal: ApiError) -> HttpResponse:
    answer = json_response(error_of(refusal), refusal.status)
    if refusal.retry_after_s:
        answer["Retry-After"] = str(refusal.retry_after_s)
    return answer
