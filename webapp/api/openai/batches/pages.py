"""Pages of a list, as OpenAI's clients walk through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

import msgspec

from webapp.gateway.errors import ApiError


class _Row(Protocol):
    pk: Any


Row = TypeVar("Row", bound=_Row)
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


def page_of(rows: Sequence[Row], after: str | None, limit: int, most: int) -> tuple[Sequence[Row], bool]:
    """Return the rows after one of them, and whether more follow. Raises ApiError."""
    if not 1 <= limit <= most:
        raise ApiError(400, "invalid", f"limit must be from 1 to {most:,}.", "limit")
    start = 0
    if after is not None:
        start = next((place for place, row in enumerate(rows, 1) if row.pk == after), -1)
        if start < 0:
            raise ApiError(400, "invalid", f"after names {after[:100]!r}, which is not in the list.", "after")
    return rows[start : start + limit], len(rows) > start + limit
