"""One session with an MCP server, by the official SDK, bounded in time and in bytes. Knows nothing of approvals.

A session is opened for each piece of work and closed after it. Nothing of it outlives the work.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
import mcp_types
from mcp import Client
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from webapp.tools.mcpclient import relay
from webapp.tools.mcpclient.bounded_transport import BoundedTransport, TooLong
from webapp.tools.mcpclient.configured import Server

logger = logging.getLogger(__name__)

T = TypeVar("T")
_MOST_AT_ONCE = 3
"""Sessions of one process: silent servers leave the worker's other threads free."""
_GRACE_S = 15
"""Time beyond the session's after which a program ends that its client no longer ends."""
_REFUSALS = (mcp_types.INVALID_PARAMS, mcp_types.METHOD_NOT_FOUND)
"""Codes that say that nothing ran. The SDK gives the other codes to faults on the way too."""
_MOST_WORDS = 500
"""Characters of a server's own error message."""


class ServerProblem(Exception):
    """The server could not be used; the exception's text says why, without a secret."""

    def __init__(self, text: str, is_refusal: bool = False) -> None:
        super().__init__(text)
        self.is_refusal = is_refusal
        """True: the server itself says that it ran nothing."""


class ServersBusy(ServerProblem):
    """This process has as many sessions as it may have. Nothing was sent."""


class NotStarted(Exception):
    """The program of a server is not there."""


@dataclass(frozen=True)
class Bounds:
    """The most that one session may take."""

    most_s: float = 30.0
    most_bytes: int = 4 << 20
    """All that the server sends counts."""


def within_session(server: Server, work: Callable[[ClientSession], Awaitable[T]], bounds: Bounds) -> T:
    """Do the work in a session of its own and return its value. Raises ServerProblem; ServersBusy without a place."""
    if not _places().acquire(blocking=False):
        raise ServersBusy(f"The MCP server {server.name} has no free place now: other calls hold them. Try again.")
    try:
        return _within_place(server, work, bounds)
    finally:
        _places().release()


@cache
def _places() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(_MOST_AT_ONCE)


def _within_place(server: Server, work: Callable[[ClientSession], Awaitable[T]], bounds: Bounds) -> T:
    try:
        return asyncio.run(_worked(server, work, bounds))
    except BaseException as error:
        cause = _first(error)
        if not isinstance(cause, Exception):
            raise
        raise _problem(server, cause, bounds) from None


async def _worked(server: Server, work: Callable[[ClientSession], Awaitable[T]], bounds: Bounds) -> T:
    # The SDK ends a program within a shield that anyio's own cancellation respects, and asyncio's does not.
    with anyio.fail_after(bounds.most_s):
        async with Client(_transport(server, bounds), cache=None) as client:
            return await work(client.session)
    raise TimeoutError


def _transport(server: Server, bounds: Bounds) -> Any:
    return _program(server, bounds) if server.command else _address(server, bounds)


@asynccontextmanager
async def _program(server: Server, bounds: Bounds) -> AsyncIterator[Any]:
    own = get_default_environment() | dict(server.env)
    if shutil.which(server.command[0], path=own.get("PATH")) is None:
        raise NotStarted
    most_s = int(bounds.most_s) + _GRACE_S
    arguments = ["-I", "-S", str(Path(relay.__file__)), str(bounds.most_bytes), str(most_s), *server.command]
    parameters = StdioServerParameters(
        command=sys.executable, args=arguments, env=own, encoding_error_handler="replace"
    )
    # A server may write secrets, and without end, to its standard error output.
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        async with stdio_client(parameters, nowhere) as streams:
            yield streams


@asynccontextmanager
async def _address(server: Server, bounds: Bounds) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        client = httpx2.AsyncClient(
            transport=BoundedTransport(bounds.most_bytes),
            headers={"Accept-Encoding": "identity", "User-Agent": "Sightglass", **server.headers},
            timeout=bounds.most_s,
            trust_env=False,
        )
        await stack.enter_async_context(client)
        yield await stack.enter_async_context(streamable_http_client(server.url, http_client=client))


def _first(error: BaseException) -> BaseException:
    """The first cause: task groups wrap it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _problem(server: Server, error: Exception, bounds: Bounds) -> ServerProblem:
    if isinstance(error, ServerProblem):
        return error
    is_refusal = isinstance(error, MCPError) and error.code in _REFUSALS
    return ServerProblem(f"The MCP server {server.name} {_words(server, error, bounds)}.", is_refusal)


def _said(server: Server, error: MCPError) -> str:
    """The server's own words, or the SDK's."""
    return server.without_secrets(error.message.replace("\x00", ""))[:_MOST_WORDS]


def _words(server: Server, error: Exception, bounds: Bounds) -> str:
    longest = f"{bounds.most_bytes >> 10:,} KiB"
    match error:
        case TimeoutError():
            return f"gave no answer within {bounds.most_s:g} s"
        case TooLong():
            return f"sent more than {longest}, or a compressed answer"
        case NotStarted():
            return "cannot be started: its program was not found"
        case MCPError(code=mcp_types.CONNECTION_CLOSED):
            bound = f"{longest} or {relay.MOST_LINES:,} lines"
            return f"ended before it answered, or sent more than {bound} ({_said(server, error)})"
        case MCPError():
            return f"{'refused' if error.code in _REFUSALS else 'gave an error'}: {_said(server, error)}"
        case ValidationError():
            return "gave an answer that is not of the protocol's form"
        case httpx2.RemoteProtocolError() | httpx2.ReadError():
            return "ended before it answered"
        case httpx2.HTTPError() | OSError():
            return f"cannot be reached ({type(error).__name__})"
    logger.warning("A session with the MCP server %s ended with %s", server.name, type(error).__name__)
    return f"failed ({type(error).__name__})"
