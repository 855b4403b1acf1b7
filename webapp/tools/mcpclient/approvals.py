"""An operator's decisions about the tools of MCP servers, and the tools that are offered by them."""

from __future__ import annotations

from django.utils import timezone

from webapp.ground.audit.log import record
from webapp.tools.mcpclient.configured import servers
from webapp.tools.mcpclient.definition import BETWEEN
from webapp.tools.mcpclient.models import McpTool


def approve(tool: McpTool, user_id: int, asks_user: bool = True) -> None:
    """Offer exactly this definition. asks_user: False counts only where the server too says that it changes nothing."""
    asks = asks_user or not tool.listed.says_read_only
    changed = McpTool.objects.filter(pk=tool.pk).update(
        approved_at=timezone.now(), approver_id=user_id, asks_user=asks, former=""
    )
    if changed:
        record(tool, "approved", after={"asks_user": asks})


def withdraw(tool: McpTool) -> None:
    """Offer it no more."""
    if McpTool.objects.filter(pk=tool.pk).update(approved_at=None, approver=None, asks_user=True):
        record(tool, "withdrew")


def approved() -> list[McpTool]:
    """The tools of configured servers that an operator approved, as the last reading had them."""
    if not (known := servers()):
        return []
    return list(McpTool.objects.filter(server__in=list(known), is_listed=True).exclude(approved_at=None))


def approved_named(full_name: str) -> McpTool | None:
    """The approved tool with this name in calls."""
    server, between, name = full_name.partition(BETWEEN)
    if not between or server not in servers():
        return None
    found = McpTool.objects.filter(server=server, name=name, is_listed=True).exclude(approved_at=None)
    return found.first()


def is_of_server(full_name: str) -> bool:
    """Return whether such a name is that of an MCP server's tool, offered or not."""
    return BETWEEN in full_name
