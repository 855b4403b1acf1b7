"""Where a webhook may go: a public address, checked after its name is resolved. Knows nothing of HTTP.

The connection is made to the checked address, so that a second resolution cannot lead elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from inference.protocol.url import BadUrl, parse_url
from webapp.addresses import Resolve, is_public
from webapp.addresses import resolve as addresses_of

_FORM = "A webhook has the form https://host/path."
_PORTS = {"http": 80, "https": 443}


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
        return addresses_of(host, port)
    except OSError:
        raise NotResolved(f"The name {host} cannot be resolved.") from None
    except UnicodeError:
        raise BadTarget(f"The name {host} cannot be resolved.") from None


def check_url(url: str) -> tuple[str, int]:
    """Return host and port of a webhook's URL. Raises BadTarget."""
    try:
        parts = parse_url(url)
    except BadUrl:
        raise BadTarget(_FORM) from None
    if parts.scheme not in _PORTS or not parts.host or not url.isascii():
        raise BadTarget(_FORM)
    if " " in url or parts.credentials is not None:
        raise BadTarget("A webhook's URL holds no space, and no user name or password before its host.")
    return parts.host, parts.port or _PORTS[parts.scheme]


def check_target(url: str, internal_hosts: Collection[str], resolved: Resolve = resolve) -> Target:
    """Return the target of a URL. Raises BadTarget.

    internal_hosts: names that the operator of the machine allows to have a private address.
    """
    host, port = check_url(url)
    found = resolved(host, port)
    if not found:
        raise BadTarget(f"The name {host} has no address.")
    if host not in internal_hosts and not all(map(is_public, found)):
        raise BadTarget(
            f"{host} is not a public address. SIGHTGLASS_WEBHOOK_HOSTS names internal hosts that are allowed."
        )
    return Target(url, host, port, found[0])
