"""The approved tools of the operator's MCP servers, as tools of the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webapp.tools.mcpclient import calling
from webapp.tools.mcpclient.approvals import approved, approved_named
from webapp.tools.mcpclient.models import McpTool as Row
from webapp.tools.tool import Asker, McpTool, ToolError


def mcp_tools() -> list[McpTool]:
    """All of them, by server and name."""
    return [_tool(row) for row in approved()]


def mcp_tool(name: str) -> McpTool | None:
    """The one with this name in calls; None: no operator has approved it as it is now."""
    row = approved_named(name)
    return None if row is None else _tool(row)


def _tool(row: Row) -> McpTool:
    def run(arguments: Mapping[str, Any], _: Asker) -> str:
        try:
            return calling.call(row, arguments)
        except calling.CallFailed as error:
            raise ToolError(str(error)) from None

    return McpTool(
        row.listed.tool(), row.listed.label, run, needs_approval=row.asks_user, is_repeatable=not row.asks_user
    )
