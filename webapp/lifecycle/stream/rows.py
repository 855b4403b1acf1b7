"""Rows that streams of this process look up repeatedly: one query for all of them. Knows nothing of frames."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

GATHER_S = 1.0
"""Time in which streams join the next query."""

Row = TypeVar("Row")


class Rows(Generic[Row]):
    """Asks for the rows of all streams at once."""

    def __init__(self, query: Callable[[set[str]], Awaitable[Mapping[str, Row]]]) -> None:
        self._query = query
        self._ids: set[str] = set()
        self._next: asyncio.Task[Mapping[str, Row]] | None = None

    async def find(self, row_id: str) -> Row | None:
        """Return the row as it is now; None: it is gone."""
        self._ids.add(row_id)
        self._next = self._next or asyncio.create_task(self._look())
        return (await asyncio.shield(self._next)).get(row_id)  # one reader's leaving ends no other's query

    async def _look(self) -> Mapping[str, Row]:
        await asyncio.sleep(GATHER_S)
        ids, self._ids, self._next = self._ids, set(), None
        return await self._query(ids)
