"""The HTTP transport of a session with an MCP server, which reads so many bytes and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2


class TooLong(Exception):
    """The server sends more than may be read, or in a form whose length is unknown."""


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Bounds the bodies of all answers together. A compressed body is refused, since a small one may become large."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(trust_env=False)
        self._left = most_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer, whose body raises TooLong once the bytes are used up."""
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise TooLong
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self)
        return response

    def take(self, num_bytes: int) -> None:
        """Count bytes that arrived. Raises TooLong."""
        self._left -= num_bytes
        if self._left < 0:
            raise TooLong


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, transport: BoundedTransport) -> None:
        self._stream, self._transport = stream, transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._transport.take(len(chunk))
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
