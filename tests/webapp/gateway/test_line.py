"""Calls that come faster than they are answered are refused at once, and a burst is not."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from webapp.gateway.line import MOST_UNDER_WAY, PATIENCE_S, Line


class Site:
    """An application behind the line, whose answers wait until they are let go."""

    def __init__(self) -> None:
        self.now = 0.0
        self.may_answer = asyncio.Event()
        self.line = Line(self._answer, re.compile("/begin"), lambda: self.now)

    async def _answer(self, _scope: Any, _receive: Any, send: Any) -> None:
        await self.may_answer.wait()
        await send({"type": "http.response.start", "status": 201, "headers": []})

    async def call(self, path: str = "/begin", method: str = "POST") -> list[dict[str, Any]]:
        """The messages of the answer."""
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.line({"type": "http", "method": method, "path": path}, None, send)  # type: ignore[arg-type]
        return sent

    async def begin(self, num: int) -> list[asyncio.Task[list[dict[str, Any]]]]:
        """Calls that are under way."""
        tasks = [asyncio.create_task(self.call()) for _ in range(num)]
        await asyncio.sleep(0)
        return tasks


@pytest.fixture
async def site() -> Site:
    return Site()


async def test_a_burst_is_answered(site: Site) -> None:
    calls = await site.begin(4 * MOST_UNDER_WAY)
    site.may_answer.set()
    assert [(await call)[0]["status"] for call in calls] == [201] * len(calls)


async def test_a_line_that_stays_full_refuses_in_the_apis_own_form(site: Site) -> None:
    calls = await site.begin(MOST_UNDER_WAY + 1)
    site.now += PATIENCE_S
    start, body = await site.call()
    headers = dict(start["headers"])
    assert (start["status"], headers[b"retry-after"]) == (429, b"2")
    assert headers[b"content-type"] == b"application/json"
    assert json.loads(body["body"])["error"]["code"] == "overloaded"
    site.may_answer.set()
    assert [(await call)[0]["status"] for call in calls] == [201] * len(calls)
    assert (await site.call())[0]["status"] == 201


async def test_what_begins_nothing_passes_a_full_line(site: Site) -> None:
    calls = await site.begin(MOST_UNDER_WAY + 1)
    site.now += PATIENCE_S
    others = [asyncio.create_task(site.call(*each)) for each in (("/cancel", "POST"), ("/begin", "GET"))]
    await asyncio.sleep(0)
    site.may_answer.set()
    assert [(await each)[0]["status"] for each in (*others, *calls)] == [201] * (len(calls) + 2)
