"""Pages of a list, as OpenAI's clients walk through it."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

import msgspec

from webapp.ground.gateway.errors import ApiError

Shown = TypeVar("Shown")


class Page(msgspec.Struct, Generic[Shown]):
    """One page."""

    data: list[Shown]
    first_id: str | None
    last_id: str | None
    has_more: bool
    object: str = "list"

    @classmethod
    def of(cls, data: list[Any], has_more: bool) -> Self:
        ids = [each.id for each in data]
        return cls(data, ids[0] if ids else None, ids[-1] if ids else None, has_more)


def check_limit(limit: int, most: int) -> None:
    """Raises ApiError."""
    if not 1 <= limit <= most:
        raise ApiError(400, "invalid", f"limit must be from 1 to {most:,}.", "limit")


def not_listed(after: str) -> ApiError:
    return ApiError(400, "invalid", f"after names {after[:100]!r}, which is not in the list.", "after")
