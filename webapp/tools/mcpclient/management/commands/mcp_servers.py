"""`manage.py mcp_servers [--read]`: lists the MCP servers with their state and their tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from webapp.tools.mcpclient.configured import Server, servers
from webapp.tools.mcpclient.definition import visible
from webapp.tools.mcpclient.models import McpServer, McpTool
from webapp.tools.mcpclient.reading import read


class Command(BaseCommand):
    help = "List the MCP servers of SIGHTGLASS_MCP_CONFIG with their state and their tools."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--read", action="store_true", help="read the tools of each server first")

    def handle(self, *args: Any, **options: Any) -> None:
        if not servers():
            self.stdout.write("No MCP server is set up. SIGHTGLASS_MCP_CONFIG names their file.")
        for server in servers().values():
            if options["read"]:
                read(server)
            self.stdout.write("\n".join(_lines(server)))


def _lines(server: Server) -> Iterator[str]:
    row = McpServer.objects.filter(pk=server.name).first()
    state = "not read yet" if row is None or row.read_at is None else row.error or "reached"
    yield f"{server.name} ({server.shown}): {state}"
    for tool in McpTool.objects.filter(server=server.name):
        yield f"  {tool}: {'approved' if tool.approved_at else 'waits for approval'}"
    for reason in row.left_out if row else ():
        yield f"  left out: {visible(reason)}"
