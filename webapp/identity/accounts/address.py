"""The address of a request's client, and the network of it that is kept. Knows nothing of sign-ins."""

from __future__ import annotations

import ipaddress
import re

from django.conf import settings
from django.http import HttpRequest

_WITH_PORT = re.compile(r"(?P<v4>[0-9.]+):[0-9]{1,5}|\[(?P<v6>[^\[\]]+)\](?::[0-9]{1,5})?")
"""A node of RFC 7239, as proxies write it into `X-Forwarded-For` too."""
_KEPT_BITS = {4: 24, 6: 48}
"""Enough to recognise one's own place by; many clients share it."""


def client_address(request: HttpRequest) -> str:
    """The address of the client. Only a proxy's own entry is believed, and only where a proxy is configured."""
    if settings.ENVIRONMENT.public_url is not None:
        forwarded: str = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2]
        if forwarded.strip():
            return plain_address(forwarded)
    return plain_address(str(request.META.get("REMOTE_ADDR") or ""))


def plain_address(text: str) -> str:
    """The address without brackets and port, in its usual spelling. A text without an address stays as it is."""
    text = text.strip()
    found = _WITH_PORT.fullmatch(text)
    address = _parsed((found["v4"] or found["v6"]) if found else text)
    return text if address is None else str(address)


def network_of(address: str) -> str:
    """The network of the address, as a sign-in keeps it. Empty: the text is no address."""
    found = _parsed(address)
    return "" if found is None else _network(found, _KEPT_BITS[found.version])


def clients_of(address: str) -> str:
    """The address, or the network of an IPv6 address, all of which one client has. Other texts stay as they are."""
    found = _parsed(address)
    if found is None:
        return address
    return str(found) if found.version == 4 else _network(found, 64)


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address; as IPv4 where IPv6 only wraps it."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None) or found


def _network(address: ipaddress.IPv4Address | ipaddress.IPv6Address, num_bits: int) -> str:
    plain = str(address).partition("%")[0]  # the zone of a link-local address is the server's own
    return str(ipaddress.ip_network(f"{plain}/{num_bits}", strict=False))
