"""The address of the MCP server: one POST, one answer, by the caller's key or sign-in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse

from webapp.ground.gateway.errors import user_id
from webapp.ground.gateway.operation import answers

_OF_THE_SITE = frozenset({"content-length", "connection", "transfer-encoding"})
"""Headers that the site's own server writes."""


@answers(200, 202, media="application/json")
async def serve_agent(request: HttpRequest) -> HttpResponse:
    """Answer a message of the Model Context Protocol (streamable HTTP, without sessions).

    Its tools search, read, explain, compare and replay the caller's own traces.
    """
    from webapp.api.mcp.server import exchange  # loads in a second, and few processes need it

    reply = _Reply()
    await exchange(user_id(request), _scope(request), _Given(request.body).receive, reply.send)
    return reply.response()


def _scope(request: HttpRequest) -> dict[str, Any]:
    """The request as ASGI has it. The body has been read."""
    headers = [(name.lower().encode("latin-1"), text.encode("latin-1")) for name, text in request.headers.items()]
    return {
        "type": "http",
        "method": request.method,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": b"",
        "headers": headers,
        "root_path": "",
        "scheme": request.scheme,
        "server": (request.get_host(), None),
    }


class _Given:
    """The body as one message."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def receive(self) -> dict[str, Any]:
        body, self._body = self._body, None
        if body is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body, "more_body": False}


@dataclass
class _Reply:
    """The answer, as far as it was sent."""

    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode("latin-1"): text.decode("latin-1") for name, text in message["headers"]}
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    def response(self) -> HttpResponse:
        kept = {name: text for name, text in self.headers.items() if name.lower() not in _OF_THE_SITE}
        return HttpResponse(self.body, status=self.status, headers=kept)
