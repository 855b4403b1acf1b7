"""Addresses of hosts outside: their resolution, and whether one is public. Knows nothing of URLs and of HTTP."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

Resolve = Callable[[str, int], list[str]]

_SPECIAL = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # between a provider and its customers
            "127.0.0.0/8",  # this machine
            "169.254.0.0/16",  # this link; clouds tell secrets of their machines there
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocols' own
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # former relays of 6to4
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks of networks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
            "2001::/23",  # protocols' own, such as Teredo and ORCHID
            "2001:db8::/32",  # documentation
            "3fff::/20",  # documentation
        ),
    )
)
"""Networks of IPv4, and of IPv6 within `_GLOBAL`, that lead to no host of the public internet.

Sources: https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/multicast-addresses
and https://www.iana.org/assignments/iana-ipv6-special-registry. Python has them too, but each release in its own form.
"""
_GLOBAL = IPv6Network("2000::/3")
"""All that IANA gives out of IPv6: https://www.iana.org/assignments/ipv6-unicast-address-assignments."""
_WRAPPERS = {
    IPv6Network("::ffff:0:0/96"): 0,  # IPv4-mapped
    IPv6Network("64:ff9b::/96"): 0,  # NAT64
    IPv6Network("2002::/16"): 80,  # 6to4
}
"""Networks of IPv6 whose addresses lead to an address of IPv4, and the number of bits behind it."""


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name. Raises OSError, UnicodeError."""
    return [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def is_public(text: str) -> bool:
    """Return whether an address leads to the public internet. An address of IPv4 inside one of IPv6 is judged alone."""
    address = _unwrapped(ip_address(text.partition("%")[0]))
    return (address.version == 4 or address in _GLOBAL) and not any(address in network for network in _SPECIAL)


def _unwrapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    for network, num_bits_behind in _WRAPPERS.items():
        if address in network:
            return IPv4Address(int(address) >> num_bits_behind & 0xFFFFFFFF)
    return address
