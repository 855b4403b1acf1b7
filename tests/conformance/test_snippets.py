"""The texts of the page Connect work as they are copied."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.conformance.conftest import MODEL, Access

SNIPPETS = Path(__file__).parents[2] / "frontend" / "src" / "programs" / "connect" / "snippets"


def text_of(name: str, access: Access) -> str:
    text = (SNIPPETS / f"{name}.txt").read_text("utf-8")
    for place, value in (("{address}", access.address), ("{key}", access.key), ("{model}", MODEL)):
        text = text.replace(place, value)
    return text


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["python-openai", "python-anthropic"])
def test_a_python_client_prints_an_answer(access: Access, name: str) -> None:
    assert run(sys.executable, "-c", text_of(name, access)).strip()


def test_curl_gets_an_answer_of_openais_form(access: Access) -> None:
    answer = json.loads(run("sh", "-c", text_of("curl-openai", access).replace("curl ", "curl -sS ")))
    assert answer["choices"][0]["message"]["content"].strip()


def test_curl_gets_an_answer_of_anthropics_form(access: Access) -> None:
    answer = json.loads(run("sh", "-c", text_of("curl-anthropic", access).replace("curl ", "curl -sS ")))
    assert answer["content"][0]["text"].strip()


@pytest.mark.parametrize(("name", "base"), [("continue", "apiBase"), ("llm", "api_base")])
def test_an_editors_settings_name_an_address_that_answers(access: Access, name: str, base: str) -> None:
    """An editor is not run: its settings hold the address and the key as an OpenAI client takes them."""
    text = text_of(name, access)
    found = re.search(rf"{base}: (\S+)", text)
    assert found is not None and access.key in text
    answer = httpx.get(f"{found[1]}/models", headers={"Authorization": f"Bearer {access.key}"})
    assert MODEL in [each["id"] for each in answer.json()["data"]]


def test_an_agents_settings_name_a_server_of_tools(access: Access) -> None:
    settings = json.loads(text_of("mcp", access))["mcpServers"]["sightglass"]

    async def tools() -> list[str]:
        http = httpx2.AsyncClient(headers=settings["headers"], timeout=120)
        async with http, Client(streamable_http_client(settings["url"], http_client=http)) as client:
            return [each.name for each in (await client.list_tools()).tools]

    assert "explain_trace" in asyncio.run(tools())


def test_every_text_is_tried() -> None:
    tried = {"python-openai", "python-anthropic", "curl-openai", "curl-anthropic", "continue", "llm", "mcp"}
    assert {path.stem for path in SNIPPETS.glob("*.txt")} == tried
