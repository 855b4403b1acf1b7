"""Where a webhook may go: a public address, checked after its name is resolved. Knows nothing of HTTP.

The connection is made to the checked address, so that a second resolution cannot lead elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from webapp.addresses import Resolve, is_public
from webapp.addresses import resolve as addresses_of


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
    found = resolved(host, port)
    if not found:
        raise BadTarget(f"The name {host} has no address.")
    if host not in internal_hosts and not all(map(is_public, found)):
        raise BadTarget(
            f"{host} is not a public address. SIGHTGLASS_WEBHOOK_HOSTS names internal hosts that are allowed."
        )
    return Target(url, host, port, found[0])
