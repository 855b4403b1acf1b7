"""The address of a Redis-compatible server, as `SIGHTGLASS_REDIS_URL` spells it. Knows nothing of connections.

redis://user:password@host:6379/0           rediss://…?ssl_ca_certs=/path/ca.pem          unix:///path/redis.sock?db=0
sentinel://user:password@host1:26379,host2:26379/mymaster/0?sentinel_password=…           sentinels://… is with TLS
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from inference.protocol.url import BadUrl, Url, parse_url

_SENTINEL = {"sentinel": False, "sentinels": True}
_SENTINEL_PORT = 26379
_PROBLEM = "its form is redis://, rediss://, unix:///path, sentinel://host:26379/master/0 or sentinels://"


class BadAddress(ValueError):
    """The address cannot be used. The message quotes nothing of it, as it may hold a password."""


@dataclass(frozen=True)
class SentinelAddress:
    """A server whose present address Sentinels tell."""

    nodes: tuple[tuple[str, int], ...]
    """The Sentinels."""
    master: str
    database: int
    user: str | None
    password: str | None = field(repr=False)
    sentinel_user: str | None
    sentinel_password: str | None = field(repr=False)
    tls: dict[str, str] | None
    """redis-py's options of TLS, for the server and the Sentinels; None: without TLS."""


def check_address(url: str) -> str:
    """Return the address. Raises BadAddress."""
    parts = _parts(url)
    if parts.scheme in _SENTINEL:
        _parse(parts)
    elif not (parts.host if parts.scheme in ("redis", "rediss") else parts.scheme == "unix" and parts.path):
        raise BadAddress(_PROBLEM)
    return url


def sentinel_address(url: str) -> SentinelAddress | None:
    """Return the parsed address; None where no Sentinel is asked. Raises BadAddress."""
    parts = _parts(url)
    return _parse(parts) if parts.scheme in _SENTINEL else None


def _parts(url: str) -> Url:
    """Raises BadAddress."""
    try:
        return parse_url(url)
    except BadUrl:
        raise BadAddress(_PROBLEM) from None


def _parse(parts: Url) -> SentinelAddress:
    """Raises BadAddress."""
    master, _, database = parts.path.lstrip("/").partition("/")
    options = dict(parse_qsl(parts.query))
    if not (master and parts.nodes and (database or "0").isdecimal()):
        raise BadAddress(_PROBLEM)
    return SentinelAddress(
        nodes=tuple((node.host, node.port or _SENTINEL_PORT) for node in parts.nodes),
        master=unquote(master),
        database=int(database or 0),
        user=parts.user or None,
        password=parts.password or None,
        sentinel_user=options.get("sentinel_user"),
        sentinel_password=options.get("sentinel_password"),
        tls={name: text for name, text in options.items() if name.startswith("ssl_")}
        if _SENTINEL[parts.scheme]
        else None,
    )
