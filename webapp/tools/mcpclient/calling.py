"""Calls a tool of an MCP server, after a look at whether its definition is still the approved one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webapp.tools.mcpclient.configured import Server, servers
from webapp.tools.mcpclient.definition import Definition
from webapp.tools.mcpclient.models import McpTool
from webapp.tools.mcpclient.reading import keep, listed

if TYPE_CHECKING:
    from mcp.client.session import ClientSession
    from mcp_types import CallToolResult

    from webapp.tools.mcpclient.session import Bounds

_UNKNOWN = " Unknown whether the call had an effect."


class CallFailed(Exception):
    """The call has no result, or one that its server calls an error; the exception's text says why."""


@dataclass
class _Exchange:
    """The progress of one call."""

    listing: list[Definition] = field(default_factory=list)
    is_sent: bool = False
    result: CallToolResult | None = None


def call(tool: McpTool, arguments: Mapping[str, Any], bounds: Bounds | None = None) -> str:
    """Return the result's text. Raises CallFailed."""
    from webapp.tools.mcpclient import session

    server = servers()[tool.server]
    exchange = _Exchange()

    async def work(opened: ClientSession) -> None:
        await _exchanged(exchange, tool, await listed(server, opened), arguments, opened)

    try:
        session.within_session(server, work, bounds or session.Bounds())
    except session.ServerProblem as error:
        is_unknown = exchange.is_sent and not error.is_refusal
        raise CallFailed(f"{error}{_UNKNOWN if is_unknown else ''}") from None
    if exchange.result is None:
        keep(server, exchange.listing)
        raise CallFailed(
            "Not run: the server lists this tool otherwise than it was approved. It waits for an operator."
        )
    text = server.without_secrets(_text(server, exchange.result))
    if exchange.result.is_error:
        raise CallFailed(text)
    return text


async def _exchanged(
    exchange: _Exchange,
    tool: McpTool,
    listing: list[Definition],
    arguments: Mapping[str, Any],
    opened: ClientSession,
) -> None:
    """Send the call and take its result, unless the tool's definition is no longer the approved one."""
    from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

    exchange.listing = listing
    if [each.digest for each in listing if each.name == tool.name] != [tool.pk]:
        return
    exchange.is_sent = True
    # The SDK's own `call_tool` also checks the result by the server's schema, which is hostile and of no use here.
    request = CallToolRequest(params=CallToolRequestParams(name=tool.name, arguments=dict(arguments)))
    exchange.result = await opened.send_request(request, CallToolResult)


def _text(server: Server, result: CallToolResult) -> str:
    parts = [_part(server, each.model_dump(by_alias=True, mode="json")) for each in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(server.without_secrets_in(result.structured_content), ensure_ascii=False)]
    return "\n".join(parts).replace("\x00", "") or "(an empty result)"


def _part(server: Server, content: Mapping[str, Any]) -> str:
    """A text, or in words what else there is."""
    if content["type"] == "text":
        return str(content["text"])
    kind = {"resource_link": "link to a resource", "resource": "resource"}.get(content["type"], content["type"])
    form = server.without_secrets(str(content.get("mimeType") or "of no type"))[:100]
    return f"(here the result has a part that is no text: {kind}, {form})"
