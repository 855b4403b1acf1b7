"""Pages of rows by the time of their making. Reads few rows at a time, and knows nothing of a page's form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Q, QuerySet

from webapp.surfaces.batches.models import Batch, StoredFile

Row = TypeVar("Row", Batch, StoredFile)


@dataclass(frozen=True)
class Rows(Generic[Row]):
    """Some rows of a list."""

    rows: list[Row]
    has_more: bool


def rows_after(
    rows: QuerySet[Row],
    start: Row | None,
    limit: int,
    *,
    is_ascending: bool = False,
    sees: Callable[[Row], bool] = lambda _row: True,
) -> Rows[Row]:
    """Return rows after `start`, or from the first on, the newest first. is_ascending: the oldest first.

    sees: False for a row that is left out.
    """
    ordered = rows.order_by("created_at", "id") if is_ascending else rows.order_by("-created_at", "-id")
    found = list[Row]()
    while True:
        some = list((ordered if start is None else ordered.filter(_follows(start, is_ascending)))[: limit + 1])
        found += filter(sees, some)
        if len(found) > limit or len(some) <= limit:
            return Rows(found[:limit], len(found) > limit)
        start = some[-1]


def _follows(start: Row, is_ascending: bool) -> Q:
    beyond = "gt" if is_ascending else "lt"
    same = Q(created_at=start.created_at) & Q(**{f"id__{beyond}": start.pk})
    return Q(**{f"created_at__{beyond}": start.created_at}) | same
