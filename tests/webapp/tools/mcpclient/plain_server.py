"""An MCP server over stdio without the SDK, whose import takes a second: `plain_server.py TOOLS`.

It lists and behaves as `real_server.py` does, where a test asks how a program's process behaves. Knows nothing of the
product.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = Path(sys.argv[1])
METHOD_NOT_FOUND = -32601


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request. None: it has no such method."""
    if method == "initialize":
        told = {"name": "plain", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": told}
    if method == "tools/list":
        if TOOLS.with_suffix(".dies").exists():
            os._exit(3)
        return {"tools": json.loads(TOOLS.read_text("utf-8"))}
    return call(params["name"], params.get("arguments") or {}) if method == "tools/call" else None


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    with TOOLS.with_suffix(".calls").open("a") as calls:
        calls.write(json.dumps({"name": name, "arguments": arguments}) + "\n")
    match name:
        case "die":
            os._exit(3)
        case "block":
            time.sleep(3600)  # neither answers nor hears that it should end
        case "flood":
            return content({"type": "text", "text": "x" * (8 << 20)})
        case "line":
            while True:  # one line without an end, on the stream of the protocol
                os.write(1, b"x" * 65536)
        case "errors":
            os.write(2, b"an error\n" * 100_000)
            return content({"type": "text", "text": "done"})
        case "secret":
            return content({"type": "text", "text": f"{os.environ.get('TOKEN')} {sorted(os.environ)}"})
        case "secret_kind":
            kind = "x" * 90 + str(os.environ.get("TOKEN"))  # a cut leaves a part of it
            return content({"type": "image", "data": "aGk=", "mimeType": kind})
    return content({"type": "text", "text": f"you said {arguments.get('text', '')}"})


def content(block: dict[str, Any]) -> dict[str, Any]:
    return {"content": [block]}


def told(request: dict[str, Any]) -> dict[str, Any]:
    result = answer(request["method"], request.get("params") or {})
    if result is None:
        return {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
    return {"result": result}


if __name__ == "__main__":
    TOOLS.with_suffix(".pid").write_text(str(os.getpid()))
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"]} | told(asked)), flush=True)
