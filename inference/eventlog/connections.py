"""The one place that opens connections to Redis, each with limits of time. Knows nothing of what is asked there.

A network that is cut in silence resets no connection, so each read and write has a limit. Celery's own connections get
the same limits in `inference/queue/broker.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import redis
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.driver_info import DriverInfo
from redis.exceptions import AuthenticationError
from redis.retry import Retry
from redis.sentinel import (
    Sentinel,
    SentinelConnectionPool,
    SentinelManagedConnection,
    SentinelManagedSSLConnection,
)

from inference.eventlog.address import SentinelAddress, sentinel_address

CONNECT_TIMEOUT_S = 3
_DRIVER = DriverInfo()
"""Has the library's version, which each new connection reads from a file otherwise, for milliseconds."""
TIMEOUT_S = 5
"""Longest wait for a reply. A command that blocks in the server asks for more than its own wait."""
PATIENCE_S = 1.0
"""A command is tried again for so long; after that the caller is told."""
_POOL_WAIT_S = 10

T = TypeVar("T")


class PatientRetry(Retry):
    """Tries a command again for a while after its first try, once at least: a pool may hold a dead connection.

    redis-py nests calls, since a command connects. Only the outermost repeats, so that the limits do not multiply.
    A connection has a copy of its own, and serves one thread at a time.
    """

    def __init__(self, patience_s: float) -> None:
        super().__init__(ExponentialBackoff(cap=1, base=0.05), 1, (redis.ConnectionError, redis.TimeoutError, OSError))
        self._patience_s = patience_s
        self._is_within = False

    def call_with_retry(
        self,
        do: Callable[[], T],
        fail: Callable[..., Any],
        is_retryable: Callable[[Exception], bool] | None = None,
        with_failure_count: bool = False,
    ) -> T:
        if self._is_within:
            return self._once(do, fail, with_failure_count, 1)
        self._is_within, deadline, failures = True, time.monotonic() + self._patience_s, 0
        try:
            while True:
                try:
                    return self._once(do, fail, with_failure_count, failures + 1)
                except self._supported_errors as error:
                    failures += 1
                    pause_s = self._backoff.compute(failures)
                    is_over = failures > 1 and time.monotonic() + pause_s > deadline
                    if is_over or isinstance(error, AuthenticationError) or (is_retryable and not is_retryable(error)):
                        raise
                    time.sleep(pause_s)
        finally:
            self._is_within = False

    def _once(self, do: Callable[[], T], fail: Callable[..., Any], is_counted: bool, failures: int) -> T:
        try:
            return do()
        except self._supported_errors as error:
            fail(*(error, failures) if is_counted else (error,))
            raise


class _MasterConnection(SentinelManagedConnection):
    """A connection that asks the Sentinels again each time that it opens its socket.

    redis-py's own asks them when the pool hands it out, and so repeats a failed command at the lost server.
    """

    def _connect(self) -> Any:
        self.host, self.port = self.connection_pool.get_master_address()
        return super()._connect()  # type: ignore[no-untyped-call]


class _SecuredMasterConnection(_MasterConnection, SentinelManagedSSLConnection):
    """The same with TLS."""


class _MasterPool(SentinelConnectionPool, redis.BlockingConnectionPool):
    """Connections to the server that Sentinels name. Callers wait while all are in use."""


def connect(
    url: str,
    *,
    timeout_s: float = TIMEOUT_S,
    patience_s: float = PATIENCE_S,
    max_connections: int = 64,
    decode_responses: bool = False,
) -> redis.Redis:
    """Return a client. Callers wait while all its connections are in use. Raises BadAddress.

    timeout_s: longest wait for a reply. patience_s: a command is tried again for so long, once at least.
    """
    options: dict[str, Any] = {
        "decode_responses": decode_responses,
        "socket_timeout": timeout_s,
        "retry": PatientRetry(patience_s),
        "max_connections": max_connections,
        "timeout": _POOL_WAIT_S,
    }
    address = sentinel_address(url)
    if address is None:
        pool = redis.BlockingConnectionPool.from_url(url, **connecting_options(url), **options)
    else:
        asked = asking_options(address) | {"retry": Retry(NoBackoff(), 0)}
        sentinel = Sentinel(address.nodes, sentinel_kwargs=asked)  # type: ignore[no-untyped-call]
        options["connection_class"] = _MasterConnection if address.tls is None else _SecuredMasterConnection
        pool = _MasterPool(address.master, sentinel, **master_options(address), **options)  # type: ignore[no-untyped-call]
    return redis.Redis(connection_pool=pool)


def connecting_options(url: str) -> dict[str, Any]:
    """Return redis-py's options for connecting in time. A unix socket takes no limit."""
    limit = {} if url.startswith("unix:") else {"socket_connect_timeout": CONNECT_TIMEOUT_S}
    return {"driver_info": _DRIVER, **limit}


def asking_options(address: SentinelAddress) -> dict[str, Any]:
    """Return redis-py's options of a connection to a Sentinel."""
    own = {"username": address.sentinel_user, "password": address.sentinel_password}
    limits = {"socket_timeout": CONNECT_TIMEOUT_S, "socket_connect_timeout": CONNECT_TIMEOUT_S}
    return {**own, **limits, **_tls(address)}


def master_options(address: SentinelAddress) -> dict[str, Any]:
    """Return redis-py's options of a connection to the server itself."""
    own = {"username": address.user, "password": address.password, "db": address.database}
    return {**own, "socket_connect_timeout": CONNECT_TIMEOUT_S, **_tls(address)}


def _tls(address: SentinelAddress) -> dict[str, Any]:
    return {} if address.tls is None else {"ssl": True, **address.tls}
