"""Rows of requests whose logs are silent: one query for all streams of this process. Knows nothing of frames."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from webapp.requests.models import Request

_GATHER_S = 1.0
"""Time in which streams join the next query."""

Query = Callable[[set[str]], Awaitable[Mapping[str, Request]]]


class Rows:
    """Asks for the rows of all streams at once."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._ids: set[str] = set()
        self._next: asyncio.Task[Mapping[str, Request]] | None = None

    async def find(self, request_id: str) -> Request | None:
        """Return the request as it is now; None: it was deleted."""
        self._ids.add(request_id)
        self._next = self._next or asyncio.create_task(self._look())
        return (await asyncio.shield(self._next)).get(request_id)  # one reader's leaving ends no other's query

    async def _look(self) -> Mapping[str, Request]:
        await asyncio.sleep(_GATHER_S)
        ids, self._ids, self._next = self._ids, set(), None
        return await self._query(ids)
