"""Answers of JSON operations: structs as JSON. Knows nothing of their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec
from django.http import HttpResponse

Value = TypeVar("Value")


@dataclass(frozen=True)
class Answer(Generic[Value]):
    """An answer that differs from its operation's usual one in status or headers."""

    value: Value | msgspec.Raw
    """Raw: a stored answer that is JSON already."""
    status: int | None = None
    """None: the operation's first status."""
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeat: bool = False
    """An earlier call under the same Idempotency-Key began this."""


def json_response(value: object, status: int = 200) -> HttpResponse:
    """Return the value as JSON. Raises TypeError for a value that has no JSON form."""
    return HttpResponse(msgspec.json.encode(value), content_type="application/json", status=status)
