"""Errors in Anthropic's form. Knows nothing of their causes."""

from __future__ import annotations

import msgspec
from django.http import HttpResponse

from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.errors import ApiError

_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_TOO_LONG = "prompt is too long: "
"""Clients that shorten a history look for these words."""
_CODES = {"thread_unsupported_request"}
"""Codes of this site that are Anthropic's too."""


class Details(msgspec.Struct):
    """The cause, for a client that knows what to do about it."""

    error_code: str


class Error(msgspec.Struct, omit_defaults=True):
    """The reason of a refusal."""

    type: str
    message: str
    details: Details | None = None


class ErrorAnswer(msgspec.Struct, tag="error", omit_defaults=True):
    """The body of a refusal, and the event that ends a stream early."""

    error: Error
    request_id: str | None = None


def status_of(refusal: ApiError) -> int:
    """Return Anthropic's status. A server without a free place is overloaded; no limit of the client's is reached."""
    return 529 if refusal.code == "overloaded" else refusal.status


def error_of(refusal: ApiError, request_id: str | None = None) -> ErrorAnswer:
    """Return the refusal in Anthropic's form."""
    status = status_of(refusal)
    usual = "api_error" if status >= 500 else "invalid_request_error"
    message = _TOO_LONG + refusal.message if refusal.code == "prompt_too_long" else refusal.message
    if refusal.field is not None and refusal.field not in message:
        message = f"{refusal.field}: {message}"  # the form has no other place for it
    details = Details(refusal.code) if refusal.code in _CODES else None
    return ErrorAnswer(Error(_TYPES.get(status, usual), message, details), request_id)


def response(refusal: ApiError, request_id: str) -> HttpResponse:
    answer = json_response(error_of(refusal, request_id), status_of(refusal))
    if refusal.retry_after_s:
        answer["Retry-After"] = str(refusal.retry_after_s)
    return answer
