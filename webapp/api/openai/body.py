"""Bodies of OpenAI's forms. Knows nothing of their meaning."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from django.http import HttpRequest

from webapp.ground.gateway.body import decode_body, read_body
from webapp.ground.gateway.errors import ApiError

Body = TypeVar("Body", bound=msgspec.Struct)


def read(http: HttpRequest, kind: type[Body]) -> Body:
    """Return the body as a struct. Raises ApiError, also for a NUL, which the database takes in no text."""
    return _without_nul(read_body(http, kind), http.body)


def decode(data: bytes, kind: type[Body]) -> Body:
    """Return the body of a batch's line as a struct. Raises ApiError as `read`."""
    return _without_nul(decode_body(data, kind), data)


def _without_nul(body: Body, data: bytes) -> Body:
    try:
        place = _place_of_nul(msgspec.to_builtins(body)) if b"\\u0000" in data else None
    except RecursionError:
        raise ApiError(400, "invalid_json", "The body is nested too deeply.") from None
    if place is not None:
        raise ApiError(400, "invalid", "The text has a NUL character; remove it.", place)
    return body


def _place_of_nul(value: Any, place: str = "") -> str | None:
    if isinstance(value, str):
        return place if "\x00" in value else None
    parts: list[tuple[Any, str]] = []
    if isinstance(value, dict):
        parts = [(each, f"{place}.{name}".lstrip(".")) for name, each in value.items()]
        if any("\x00" in str(name) for name in value):
            return place
    elif isinstance(value, list | tuple):
        parts = [(each, f"{place}[{index}]") for index, each in enumerate(value)]
    return next((found for each in parts if (found := _place_of_nul(*each)) is not None), None)
