"""However many streams are open, the process asks the database for all of them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from webapp.lifecycle.stream.rows import Rows
from webapp.requests.models import Request


async def test_a_thousand_silent_streams_cost_one_query() -> None:
    asked: list[set[str]] = []

    async def query(ids: set[str]) -> Mapping[str, Request]:
        asked.append(ids)
        return {each: Request(pk=each) for each in ids if each != "deleted"}

    rows = Rows(query)
    names = [f"req_{number % 10}" for number in range(1000)]
    found = await asyncio.gather(*map(rows.find, [*names, "deleted"]))
    assert [each and each.pk for each in found] == [*names, None]
    assert asked == [{*names, "deleted"}]


async def test_a_stream_that_leaves_ends_no_other_streams_query() -> None:
    async def query(ids: set[str]) -> Mapping[str, Request]:
        return {each: Request(pk=each) for each in ids}

    rows = Rows(query)
    leaving, staying = (asyncio.create_task(rows.find(name)) for name in ("a", "b"))
    await asyncio.sleep(0)
    leaving.cancel()
    found = await staying
    assert found is not None and found.pk == "b"
