"""Celery's options for the address of the queues, with limits of time on each connection. Knows nothing of messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from redis.backoff import NoBackoff
from redis.retry import Retry

from inference.eventlog.address import SentinelAddress, sentinel_address
from inference.eventlog.connections import CONNECT_TIMEOUT_S, asking_options

_TIMEOUT_S = 4
"""Longest wait for a reply."""
_HEALTH_CHECK_S = 4
"""A consumer's connection is given up this long after a reply is due. kombu looks as often."""


@dataclass(frozen=True)
class Broker:
    """The broker of a Celery app."""

    url: str = field(repr=False)
    transport_options: dict[str, Any] = field(repr=False)
    tls: dict[str, Any] | None = None
    """Options of TLS, for Sentinels; an address with rediss:// has its own."""


def broker_of(redis_url: str) -> Broker:
    """Return the broker at this address. Raises BadAddress."""
    limits = {
        "socket_timeout": _TIMEOUT_S,
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "health_check_interval": _HEALTH_CHECK_S,
    }
    address = sentinel_address(redis_url)
    if address is None:
        return Broker(celery_url(redis_url), limits)
    asked = asking_options(address) | {"retry": Retry(NoBackoff(), 0)}
    own = {"master_name": address.master, "sentinel_kwargs": asked}
    return Broker(_sentinels_url(address), limits | own, _tls(address))


def celery_url(redis_url: str) -> str:
    """Return Celery's spelling of a redis-py address: it calls a unix socket `redis+socket://`."""
    if redis_url.startswith("unix://"):
        path, _, query = redis_url.removeprefix("unix://").partition("?")
        database = dict(part.split("=", 1) for part in query.split("&") if "=" in part).get("db", "0")
        return f"redis+socket://{path}?virtual_host={database}"
    if redis_url.startswith("rediss://") and "ssl_cert_reqs=" not in redis_url:
        return f"{redis_url}{'&' if '?' in redis_url else '?'}ssl_cert_reqs=required"
    return redis_url


def _sentinels_url(address: SentinelAddress) -> str:
    """Return Celery's spelling: an address for each Sentinel, with the server's own user, password and database."""
    user, password = (quote(text or "", safe="") for text in (address.user, address.password))
    credentials = f"{user}:{password}@" if user or password else ""
    nodes = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in address.nodes)
    return ";".join(f"sentinel://{credentials}{node}/{address.database}" for node in nodes)


def _tls(address: SentinelAddress) -> dict[str, Any] | None:
    return None if address.tls is None else {"ssl_cert_reqs": "required", **address.tls}
