"""Addresses of hosts outside: their resolution, and whether one is public. Knows nothing of URLs and of HTTP."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

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


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name. Raises OSError, UnicodeError."""
    return [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def is_public(text: str) -> bool:
    """Return whether an address leads to the public internet, also where one of IPv4 hides in one of IPv6."""
    address = ip_address(text.partition("%")[0])
    hidden = _hidden(address)
    is_special = any(each in network for each in (address, hidden) for network in _NOT_PUBLIC)
    return not is_special and hidden.is_global and not hidden.is_multicast and address.is_global


def _hidden(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None) or address
