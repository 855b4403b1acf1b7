"""Reads and validates JSON bodies. Knows nothing of what they are for."""

from __future__ import annotations

import re
import unicodedata
from typing import TypeVar

import msgspec
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest

from inference.protocol.events import ClientTiming
from inference.protocol.request import MAX_MESSAGE_BYTES
from webapp.gateway.errors import ApiError

Body = TypeVar("Body")

_MAX_BODY_BYTES = 2 << 20
_MAX_SAFE_INTEGER = 2**53 - 1
"""The largest whole number that JavaScript holds exactly."""
_MAX_PROTOCOL_CHARS = 32
_HALF_PAIR = re.compile(rb"(?i)\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f]")
_INVISIBLE = {"Zs", "Zl", "Zp", "Cc", "Cf"}
"""Unicode categories of what leaves nothing to read: spaces, controls, zero-width characters."""


def read_body(request: HttpRequest, kind: type[Body]) -> Body:
    """The body as a struct. Raises ApiError."""
    try:
        data = request.body
    except RequestDataTooBig:
        data = b" " * (_MAX_BODY_BYTES + 1)
    if len(data) > _MAX_BODY_BYTES:
        raise ApiError(413, "too_large", f"The request has more than {_MAX_BODY_BYTES >> 20} MiB. Shorten the message.")
    try:
        return msgspec.json.decode(data or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise ApiError(400, "invalid", f"{error}", _field_of(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        half = "" if _HALF_PAIR.search(data) is None else " It has \\u escapes of half a surrogate pair."
        raise ApiError(400, "invalid_json", f"The body is not valid JSON: {error}.{half} Send valid Unicode.") from None
    except RecursionError:
        raise ApiError(400, "invalid_json", "The body is nested too deeply.") from None


def _field_of(error: msgspec.ValidationError) -> str | None:
    """msgspec ends its messages with the path, e.g. "- at `$.params.top_p`"."""
    _, found, path = str(error).rpartition("at `$.")
    return path.rstrip("`") if found else None


def checked_text(text: str) -> str:
    """A message's text. Raises ApiError."""
    if all(unicodedata.category(char) in _INVISIBLE for char in text):
        raise ApiError(400, "empty", "The message is empty. Write something first.", "text")
    if "\x00" in text:
        raise ApiError(400, "invalid_text", "The message has a NUL character; remove it.", "text")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        message = f"The message has half a surrogate pair at character {error.start}. Send valid Unicode."
        raise ApiError(400, "invalid_text", message, "text") from None
    if size > MAX_MESSAGE_BYTES:
        message = f"The message has {size:,} bytes; at most {MAX_MESSAGE_BYTES:,} are accepted. Shorten it."
        raise ApiError(413, "too_large", message, "text")
    return text


def checked_timing(client: ClientTiming | None) -> ClientTiming | None:
    """What a browser could have measured, before it is kept with the request. Raises ApiError."""
    for name, value in msgspec.structs.asdict(client).items() if client is not None else ():
        if isinstance(value, int) and abs(value) > _MAX_SAFE_INTEGER:
            raise ApiError(400, "invalid", f"{name} is not a time in µs.", f"client.{name}")
        if isinstance(value, str) and not (value.isprintable() and len(value) <= _MAX_PROTOCOL_CHARS):
            raise ApiError(400, "invalid", f"{name} is not the name of a protocol.", f"client.{name}")
    return client
