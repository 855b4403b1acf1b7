"""Real MCP servers, over stdio and over HTTP, that the operator has set up."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User

from tests.ports import free_port
from webapp.tools.mcpclient.approvals import approve
from webapp.tools.mcpclient.configured import Server, servers
from webapp.tools.mcpclient.models import McpTool
from webapp.tools.mcpclient.reading import read

PROGRAM = Path(__file__).parent / "real_server.py"
PLAIN_PROGRAM = PROGRAM.with_name("plain_server.py")
TEXT = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 100}}, "additionalProperties": False}


def wire(name: str, **members: Any) -> dict[str, Any]:
    """A tool as a server lists it."""
    return {"name": name, "description": f"Does {name}.", "inputSchema": TEXT} | members


@dataclass(frozen=True)
class Real:
    """A server that runs, and the file of what it lists."""

    server: Server
    tools: Path

    def lists(self, *tools: str | dict[str, Any]) -> None:
        listed = [wire(each) if isinstance(each, str) else each for each in tools]
        self.tools.write_text(json.dumps(listed), "utf-8")

    def read(self) -> None:
        read(self.server)

    def row(self, name: str) -> McpTool:
        return McpTool.objects.get(server=self.server.name, name=name)

    def offers(self, *tools: str | dict[str, Any], asks_user: bool = True) -> McpTool:
        """List the tools and approve them all; return the first."""
        self.lists(*tools)
        self.read()
        for row in McpTool.objects.filter(server=self.server.name):
            approve(row, operator().pk, asks_user)
        first = tools[0] if isinstance(tools[0], str) else tools[0]["name"]
        return self.row(first)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls that reached it."""
        path = self.tools.with_suffix(".calls")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def operator() -> User:
    return User.objects.get_or_create(username="root", is_superuser=True, is_staff=True)[0]


Configured = Callable[[dict[str, Any]], None]


@pytest.fixture
def configured(tmp_path: Path, settings: LazySettings) -> Configured:
    """Writes the operator's file."""

    def write(found: dict[str, Any]) -> None:
        path = tmp_path / f"mcp_{len(list(tmp_path.iterdir()))}.json"  # a process reads a file once
        path.write_text(json.dumps({"mcpServers": found}))
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, mcp_config=path)

    return write


@pytest.fixture
def real(tmp_path: Path, configured: Configured) -> Real:
    """A program on this machine, by the official SDK."""
    return _program("real", [str(PROGRAM)], tmp_path, configured)


@pytest.fixture
def plain(tmp_path: Path, configured: Configured) -> Real:
    """A program on this machine that starts at once."""
    return _program("plain", ["-I", "-S", str(PLAIN_PROGRAM)], tmp_path, configured)


def _program(name: str, arguments: list[str], folder: Path, configured: Configured) -> Real:
    tools = folder / "tools.json"
    args = [*arguments, str(tools)]
    configured({name: {"command": sys.executable, "args": args, "env": {"TOKEN": "open-sesame-please"}}})
    return Real(servers()[name], tools)


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server that answers over HTTP for as long as the tests run, and the file of what it lists."""
    tools, port = tmp_path_factory.mktemp("mcp") / "tools.json", free_port()
    process = subprocess.Popen([sys.executable, str(PROGRAM), str(tools), str(port)])
    url = f"http://127.0.0.1:{port}/mcp"
    while not _answers(url):
        assert process.poll() is None
        time.sleep(0.02)
    yield url, tools
    process.kill()
    process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code > 0
    except httpx.HTTPError:
        return False


@pytest.fixture
def remote(address: tuple[str, Path], configured: Configured) -> Real:
    """An address."""
    url, tools = address
    tools.with_suffix(".calls").unlink(missing_ok=True)
    configured({"far": {"url": url, "headers": {"Authorization": "Bearer open-sesame-please"}}})
    return Real(servers()["far"], tools)
