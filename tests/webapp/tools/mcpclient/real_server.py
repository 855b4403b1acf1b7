"""A real MCP server by the official SDK, over stdio or HTTP: `real_server.py TOOLS [PORT]`.

TOOLS is a JSON file of the tools to list, as on the wire, so that a test can change them. Each tool's name says how a
call of it behaves. Knows nothing of the product.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

TOOLS = Path(sys.argv[1])
WIRE = os.dup(1)
"""The stream of the protocol. The SDK keeps a handler's own output from it."""
Context = ServerRequestContext[dict[str, Any]]


async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    if TOOLS.with_suffix(".dies").exists():
        os._exit(3)
    listed = json.loads(TOOLS.read_text("utf-8"))
    return types.ListToolsResult(tools=[types.Tool.model_validate(each) for each in listed])


async def call_tool(_: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    with TOOLS.with_suffix(".calls").open("a") as calls:
        calls.write(json.dumps({"name": params.name, "arguments": params.arguments}) + "\n")
    given = (params.arguments or {}).get("text", "")
    match params.name:
        case "die":
            os._exit(3)
        case "hang":
            await anyio.sleep_forever()
        case "block":
            time.sleep(3600)  # neither answers nor hears that it should end
        case "flood":
            return text("x" * (8 << 20))
        case "line":
            while True:  # one line without an end, on the stream of the protocol
                os.write(WIRE, b"x" * 65536)
        case "errors":
            os.write(2, b"an error\n" * 100_000)
            return text("done")
        case "secret":
            return text(f"{os.environ.get('TOKEN')} {sorted(os.environ)}")
        case "refuse":
            return types.CallToolResult(content=[types.TextContent(type="text", text="no such row")], is_error=True)
        case "protocol_error":
            raise MCPError(types.INVALID_PARAMS, "the arguments do not suit me")
        case "picture":
            return types.CallToolResult(
                content=[
                    types.ImageContent(type="image", data="aGk=", mime_type="image/png"),
                    types.TextContent(type="text", text="a picture of hi"),
                ]
            )
        case "secret_kind":
            kind = "x" * 90 + str(os.environ.get("TOKEN"))  # a cut leaves a part of it
            return types.CallToolResult(content=[types.ImageContent(type="image", data="aGk=", mime_type=kind)])
        case "structured":
            return types.CallToolResult(content=[], structured_content={"rows": 2})
    return text(f"you said {given}")


def text(said: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)])


SERVER = Server("real", on_list_tools=list_tools, on_call_tool=call_tool)


async def over_stdio() -> None:
    async with stdio_server() as (reading, writing):
        await SERVER.run(reading, writing, SERVER.create_initialization_options())


def over_http(port: int) -> None:
    import uvicorn

    uvicorn.run(SERVER.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    TOOLS.with_suffix(".pid").write_text(str(os.getpid()))
    if len(sys.argv) > 2:
        over_http(int(sys.argv[2]))
    else:
        anyio.run(over_stdio)
