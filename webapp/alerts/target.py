"""Where a webhook may go: a public address, checked after its name is resolved. Knows nothing of HTTP.

The connection is made to the checked address, so that a second resolution cannot lead elsewhere.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

Resolve = Callable[[str, int], list[str]]

_NAT64 = IPv6Network("64:ff9b::/96")
_NOT_PUBLIC = (
    IPv4Network("192.0.0.0/24"),
    IPv6Network("::/96"),
    IPv6Network("64:ff9b:1::/48"),
    IPv6Network("5f00::/16"),
    IPv6Network("fec0::/10"),
)
"""Special networks that `is_global` of Python 3.11 calls global, in part or whole."""


class BadTarget(Exception):
    """A webhook must not go there."""


class NotResolved(BadTarget):
    """The name has no address now; it may have one later."""


@dataclass(frozen=True)
class Target:
    """A webhook's URL with the address that its name has now."""

    url: str
    host: str
    port: int
    ip: str


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name. Raises NotResolved, BadTarget."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise NotResolved(f"The name {host} cannot be resolved.") from None
    except UnicodeError:
        raise BadTarget(f"The name {host} cannot be resolved.") from None
    return [str(each[4][0]) for each in found]


def check_url(url: str) -> tuple[str, int]:
    """Return host and port of a webhook's URL. Raises BadTarget."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isascii() or not url.isprintable():
        raise BadTarget("A webhook has the form https://host/path.")
    if " " in url or "@" in parts.netloc:
        raise BadTarget("A webhook's URL holds no space, and no user name or password before its host.")
    return parts.hostname, port


def check_target(url: str, internal_hosts: Collection[str], resolved: Resolve = resolve) -> Target:
    """Return the target of a URL. Raises BadTarget.

    internal_hosts: names that the operator of the machine allows to have a private address.
    """
    host, port = check_url(url)
    addresses = resolved(host, port)
    if not addresses:
        raise BadTarget(f"The name {host} has no address.")
    if host not in internal_hosts:
        for each in addresses:
            _check_public(host, ip_address(each.partition("%")[0]))
    return Target(url, host, port, addresses[0])


def _check_public(host: str, address: IPv4Address | IPv6Address) -> None:
    # An address of IPv4 can hide in one of IPv6.
    hidden = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None) or address
    if address in _NAT64:
        hidden = IPv4Address(int(address) & 0xFFFFFFFF)
    is_special = any(each in network for each in (address, hidden) for network in _NOT_PUBLIC)
    if is_special or not hidden.is_global or hidden.is_multicast or not address.is_global:
        raise BadTarget(
            f"{host} is not a public address. SIGHTGLASS_WEBHOOK_HOSTS names internal hosts that are allowed."
        )
