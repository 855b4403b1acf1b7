"""Errors of a server elsewhere, with messages that say what to do. Knows nothing of streams."""

from __future__ import annotations

import re

import httpx
import msgspec
from httpx import codes

from inference.protocol.failures import FailureCode

_MAX_DETAIL = 300
_MAX_BODY = 1 << 14
_TOO_LONG = re.compile(r"context (size|length|window)|exceed_context|maximum.{0,20}length", re.I)


class BackendError(Exception):
    """A request failed at the server; `code` as in protocol.failures."""

    def __init__(self, code: FailureCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Said(msgspec.Struct):
    message: str = ""


class _ErrorBody(msgspec.Struct):
    """`{"error": {"message"}}` as OpenAI has it, or `{"message"}` or `{"detail"}` beside it."""

    error: _Said | str | None = None
    message: str | None = None
    detail: str | None = None


async def refusal(response: httpx.Response, key: str | None) -> BackendError:
    """Return the error for a response that is not 200; at most about 16 KiB of its body are read."""
    body = b""
    async for part in response.aiter_bytes():
        body += part
        if len(body) > _MAX_BODY:
            break
    return refused(response.status_code, detail(body, key))


def refused(status: int, said: str) -> BackendError:
    """Translate a status and the server's own words into an error."""
    name = f"{status} {codes.get_reason_phrase(status)}".strip()
    quoted = f"{name}: {said}" if said else name
    if status in (401, 403):
        return BackendError("server_refused", f"The model's server does not accept our key ({quoted}).")
    if status == 404:
        return BackendError("server_refused", f"The model's server does not serve this model ({quoted}).")
    if status in (429, 503):
        return BackendError("overloaded", f"The model's server takes no more requests now ({quoted}). Try again later.")
    if status in (400, 413, 422) and _TOO_LONG.search(said):
        return BackendError("prompt_too_long", f"The prompt is too long for the model's server ({quoted}).")
    if status >= 500:
        return BackendError("server_failed", f"The model's server failed ({quoted}). Send the message again.")
    return BackendError("server_refused", f"The model's server refused the request ({quoted}).")


def detail(body: bytes, key: str | None) -> str:
    """Return the server's own words, cut to a length that can be shown, with the key removed."""
    said = " ".join((_message(body) or body.decode("utf-8", "replace")).split())
    # Before cutting: a part of the key is no better than all of it.
    said = said.replace(key, "…") if key else said
    return said if len(said) <= _MAX_DETAIL else said[:_MAX_DETAIL] + "…"


def _message(body: bytes) -> str | None:
    try:
        said = msgspec.json.decode(body, type=_ErrorBody)
    except msgspec.DecodeError:
        return None
    error = said.error.message if isinstance(said.error, _Said) else said.error
    return error or said.message or said.detail


def transport_failure(error: httpx.HTTPError) -> BackendError:
    """Return the error for a failed connection."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        message = "The model's server cannot be reached"
    else:
        message = "The connection to the model's server broke before the answer was complete"
    return BackendError("server_failed", f"{message} ({error or type(error).__name__}). Send the message again.")
