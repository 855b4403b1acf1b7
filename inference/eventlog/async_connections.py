"""Opens connections to Redis for an event loop, with the same limits. Knows nothing of what is asked there."""

from __future__ import annotations

from typing import Any

import redis.asyncio as redis
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import (
    Sentinel,
    SentinelConnectionPool,
    SentinelManagedConnection,
    SentinelManagedSSLConnection,
)
from redis.backoff import NoBackoff

from inference.eventlog.address import sentinel_address
from inference.eventlog.connections import asking_options, connecting_options, master_options

_POOL_WAIT_S = 10


class _MasterConnection(SentinelManagedConnection):
    """A connection that asks the Sentinels again each time that it opens its socket."""

    async def _connect(self) -> None:
        self.host, self.port = await self.connection_pool.get_master_address()
        await super()._connect()  # type: ignore[no-untyped-call]


class _SecuredMasterConnection(_MasterConnection, SentinelManagedSSLConnection):
    """The same with TLS."""


class _MasterPool(SentinelConnectionPool, redis.BlockingConnectionPool):
    """Connections to the server that Sentinels name. Callers wait while all are in use."""


def connect_async(url: str, *, timeout_s: float, max_connections: int) -> redis.Redis:
    """Return a client. A command whose connection was lost is sent once more. Raises BadAddress.

    timeout_s: longest wait for a reply, longer than any command blocks in the server.
    """
    options: dict[str, Any] = {
        "socket_timeout": timeout_s,
        "retry": Retry(NoBackoff(), 1),
        "max_connections": max_connections,
        "timeout": _POOL_WAIT_S,
    }
    address = sentinel_address(url)
    if address is None:
        own = redis.BlockingConnectionPool.from_url(url, **connecting_options(url), **options)
        return redis.Redis.from_pool(own)
    asked = asking_options(address) | {"retry": Retry(NoBackoff(), 0)}
    sentinel = Sentinel(address.nodes, sentinel_kwargs=asked)  # type: ignore[no-untyped-call]
    options["connection_class"] = _MasterConnection if address.tls is None else _SecuredMasterConnection
    pool = _MasterPool(address.master, sentinel, **master_options(address), **options)  # type: ignore[no-untyped-call]
    return redis.Redis.from_pool(pool)
