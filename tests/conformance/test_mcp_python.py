"""The official Python client of the Model Context Protocol against the running product's traces."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import openai
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from tests.conformance.conftest import MODEL, Access
from tests.faults.conftest import Processes

ADDRESS = "/api/mcp"


@pytest.fixture(scope="module")
def traced(access: Access) -> list[str]:
    """Two requests of the same question with different seeds."""
    client = openai.OpenAI(base_url=f"{access.address}/v1", api_key=access.key)
    return [_asked(client, seed) for seed in (1, 2)]


def _asked(client: openai.OpenAI, seed: int) -> str:
    answer = client.chat.completions.with_raw_response.create(
        model=MODEL,
        messages=[{"role": "user", "content": "Name an animal of the zanzibar coast."}],
        seed=seed,
        max_tokens=12,
        temperature=1.5,
    )
    return answer.headers["sightglass-trace"].rsplit("/", 1)[-1]


def call(access: Access, name: str, **arguments: Any) -> CallToolResult:
    found: CallToolResult = within(access, lambda client: client.call_tool(name, arguments))
    return found


def within(access: Access, work: Callable[[Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        headers = {"Authorization": f"Bearer {access.key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=120) as http:
            transport = streamable_http_client(f"{access.address}{ADDRESS}", http_client=http)
            async with Client(transport) as client:
                return await work(client)

    return asyncio.run(run())


def told(result: CallToolResult) -> Any:
    assert not result.is_error, result.content
    return result.structured_content


def why(result: CallToolResult) -> str:
    assert result.is_error and isinstance(result.content[0], TextContent)
    return result.content[0].text


def test_the_tools_are_listed_and_only_read(access: Access) -> None:
    listed = within(access, lambda client: client.list_tools())
    assert [each.name for each in listed.tools] == [
        "search_traces",
        "read_trace",
        "explain_trace",
        "compare_traces",
        "replay_trace",
    ]
    assert all(each.annotations.read_only_hint for each in listed.tools)


def test_a_trace_is_found_read_and_explained(access: Access, traced: list[str]) -> None:
    found = told(call(access, "search_traces", words="zanzibar", limit=1))
    assert found["requests"][0]["id"] == traced[1] and found["next_cursor"] is not None
    rest = told(call(access, "search_traces", words="zanzibar", limit=1, cursor=found["next_cursor"]))
    assert rest["requests"][0]["id"] == traced[0]
    read = told(call(access, "read_trace", request_id=traced[0]))
    assert "zanzibar" in "".join(part["text"] for part in read["rounds"][0]["prompt"])
    assert read["usage"]["output"] == 12 and read["cost_nano"] is not None
    sentences = [each["text"] for each in told(call(access, "explain_trace", request_id=traced[0]))["statements"]]
    assert any("sampled 12 tokens, and ended by length" in each for each in sentences)


def test_two_traces_part_where_their_draws_do(access: Access, traced: list[str]) -> None:
    found = told(call(access, "compare_traces", a=traced[0], b=traced[1]))
    assert found["params"] == {"seed": [1, 2]}
    assert found["prompt"]["is_equal"] and not found["answer"]["is_equal"]


def test_a_trace_is_replayed_page_by_page(access: Access, traced: list[str]) -> None:
    seqs, start = list[int](), 1
    while start:
        page = told(call(access, "replay_trace", request_id=traced[0], from_seq=start, limit=20))
        seqs += [each["seq"] for each in page["events"]]
        start = page["next_seq"]
    assert seqs == list(range(1, len(seqs) + 1))
    tokens = told(call(access, "replay_trace", request_id=traced[0], types=["token.sampled"]))
    assert len(tokens["events"]) == 12


def test_a_wrong_call_is_told_why(access: Access) -> None:
    assert "no request" in why(call(access, "read_trace", request_id="req_nothing"))
    assert "Expected `int`" in why(call(access, "search_traces", limit="many"))
    assert "There is no tool" in why(call(access, "delete_trace"))


def test_anothers_trace_is_not_there(access: Access, site: Processes, traced: list[str]) -> None:
    site.manage("signin_link", "--user", "stranger")
    key = site.manage("create_key", "stranger", "--name", "tests").split()[-1]
    stranger = Access(access.address, key)
    assert "no request" in why(call(stranger, "explain_trace", request_id=traced[0]))
    assert told(call(stranger, "search_traces"))["requests"] == []


def test_a_key_that_may_not_read_is_refused(access: Access) -> None:
    answer = httpx2.post(f"{access.address}{ADDRESS}", json={}, headers={"Authorization": "Bearer sg_wrong"})
    assert answer.status_code == 401
