"""Bounds each HTTP request while it arrives: its size and its time. Knows nothing of sessions or addresses.

Daphne passes a request on when all of it is there. So the application begins too late to bound it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import Server
from django.http import HttpResponse
from django.utils.datastructures import CaseInsensitiveMapping
from twisted.web.http import HTTPChannel

from webapp.ground.gateway.errors import ApiError

logger = logging.getLogger(__name__)

FREE_BYTES = 64 << 10
"""The site takes a body of this size from every client. Sign-in forms and most messages are smaller."""
HEAD_S = 15.0
"""Time from a request's first line to its last header."""
BODY_S = 60.0
LARGE_BODY_S = 600.0
"""Time for a body above FREE_BYTES. In it 40 MiB arrive at 0.6 megabits per second."""
LINGER_S = 5.0
"""Time after a refusal until the connection ends. A client that sends all first reads its answer late."""

MostBytes = Callable[[str, Mapping[str, str]], Awaitable[int]]
"""The most bytes that a body may have, by its path and its headers, by name in any case. Raises ApiError."""

Refused = Callable[[str, Mapping[str, str], ApiError], HttpResponse]
"""The answer to a refused request, by its path and its headers."""


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection whose time limits are deadlines: a byte does not begin them anew."""

    def resetTimeout(self) -> None:
        pass

    def allContentReceived(self) -> None:
        self.setTimeout(self.factory.timeOut)  # kept while the request is handled, for the time after it
        super().allContentReceived()

    def timeoutConnection(self) -> None:
        if self.requests:
            self.requests[-1].refuse(ApiError(408, "too_slow", "The request did not arrive in time. Send it again."))
        else:
            super().timeoutConnection()


class BoundedRequest(WebRequest):  # type: ignore[misc]
    """A request that is refused as soon as it is too large or too slow."""

    def __init__(self, channel: Channel, *more: Any) -> None:
        # Django parses forms. Twisted would parse them too, in the event loop.
        super().__init__(channel, *more, parsePOSTFormSubmission=False)
        self._num_bytes = 0
        self._most_bytes: int | None = None
        self._question: asyncio.Task[None] | None = None
        self._end: Any = None
        channel.setTimeout(HEAD_S)

    def gotLength(self, length: int | None) -> None:
        """All headers are there. length: the announced one, if any."""
        super().gotLength(length)
        if self._end is None:
            self.channel.setTimeout(BODY_S)
            self._check(length or 0)

    def handleContentChunk(self, data: bytes) -> None:
        if self._end is None:
            super().handleContentChunk(data)
            self._num_bytes += len(data)
            self._check(self._num_bytes)

    def _check(self, num_bytes: int) -> None:
        if num_bytes > FREE_BYTES and self._question is None:
            self.channel.transport.pauseProducing()
            self._question = asyncio.ensure_future(self._ask(num_bytes))
        elif self._most_bytes is not None and num_bytes > self._most_bytes:
            message = f"The request has more than {self._most_bytes >> 20} MiB, the limit here. Send less."
            self.refuse(ApiError(413, "too_large", message))

    async def _ask(self, num_bytes: int) -> None:
        """Find out how large this body may be. Meanwhile the connection is not read."""
        try:
            self._most_bytes = await self.channel.factory.most_bytes(self._path_alone(), self._headers())
        except ApiError as error:
            self.refuse(error)
        except Exception:
            logger.exception("the limit of a body cannot be found")
            self.refuse(ApiError(500, "internal", "Something went wrong here; the server's log has the details."))
        else:
            self.channel.setTimeout(LARGE_BODY_S)
            self._check(max(num_bytes, self._num_bytes))
            self.channel.transport.resumeProducing()

    def _path_alone(self) -> str:
        return str(self.channel._path.partition(b"?")[0].decode("latin-1"))

    def _headers(self) -> Mapping[str, str]:
        """The headers as Django reads them."""
        found = {}
        for name, values in self.requestHeaders.getAllRawHeaders():
            found[name.decode("latin-1")] = (
                (b"; " if name.lower() == b"cookie" else b",").join(values).decode("latin-1")
            )
        return CaseInsensitiveMapping(found)

    def process(self) -> Any:
        """All of the request is there."""
        if self._end is not None:
            return None
        if self._question is not None and self._question.cancel():
            self.channel.transport.resumeProducing()
        return super().process()

    def refuse(self, error: ApiError) -> None:
        """Answer at once, read and drop what still comes, then end the connection."""
        response = self.channel.factory.refused(self._path_alone(), self._headers(), error)
        self.clientproto = b"HTTP/1.1"
        self.setResponseCode(response.status_code)
        for name, text in [*response.items(), ("Content-Length", str(len(response.content))), ("Connection", "close")]:
            self.setHeader(name, text)
        self.write(response.content)
        self.requestHeaders.removeHeader(b"expect")  # else Twisted asks for the body now
        if self.content is not None:
            self.content.truncate(0)
        self.channel.setTimeout(None)
        self.channel.transport.loseWriteConnection()
        self.channel.transport.resumeProducing()
        self._end = self.channel.callLater(LINGER_S, self.channel.transport.abortConnection)
        self._log_refusal(response.status_code)

    def _log_refusal(self, status: int) -> None:
        peer = self.channel.getPeer()
        details = {
            "path": self.channel._path.decode("latin-1"),
            "status": status,
            "method": self.channel._command.decode("latin-1"),
            "client": f"{peer.host}:{peer.port}",
            "time_taken": None,
            "size": self._num_bytes,
        }
        self.server.log_action("http", "complete", details)

    def connectionLost(self, reason: Any) -> None:
        if self._question is not None:
            self._question.cancel()
        if self._end is not None and self._end.active():
            self._end.cancel()
        super().connectionLost(reason)


class BoundedFactory(HTTPFactory):  # type: ignore[misc]
    """Makes the connections of one server."""

    protocol = Channel

    def __init__(self, server: Server, most_bytes: MostBytes, refused: Refused) -> None:
        super().__init__(server)
        self.most_bytes, self.refused = most_bytes, refused

    def buildProtocol(self, address: Any) -> Channel:
        channel: Channel = super().buildProtocol(address)
        channel.requestFactory = BoundedRequest
        return channel
