"""The parts of a URL that names a server, as RFC 3986 spells them. Knows nothing of schemes and of networks.

`urlsplit` is not asked. Its patch releases differ about brackets, lists of hosts, and spaces before the scheme.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from unicodedata import normalize
from urllib.parse import unquote

_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:(?P<credentials>[^/?#\[\]]*)@)?(?P<authority>[^/?#@]*)"
    r"(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.IGNORECASE,
)
_NODE = re.compile(r"(?:\[(?P<ipv6>[^\[\]]+)\]|(?P<name>[^\[\]:/?#@\s]+))(?::(?P<port>[0-9]{0,5}))?")
_MOST_PORT = 0xFFFF


class BadUrl(ValueError):
    """The text is no URL of a server. The message quotes nothing of it, as it may hold a password."""


@dataclass(frozen=True)
class Node:
    """A host with its port."""

    host: str
    """In small letters; an address of IPv6 without its brackets."""
    port: int | None


@dataclass(frozen=True)
class Url:
    """The parts of a URL."""

    scheme: str
    credentials: str | None = field(repr=False)
    """All before the @, as it was written. None: there is no @."""
    authority: str
    """The hosts with their ports, as they were written."""
    nodes: tuple[Node, ...]
    """The same, parsed. A list has commas."""
    path: str
    query: str = field(repr=False)
    fragment: str

    @property
    def host(self) -> str:
        """The only host. Empty: there is none, or there are several."""
        return self.nodes[0].host if len(self.nodes) == 1 else ""

    @property
    def port(self) -> int | None:
        return self.nodes[0].port if len(self.nodes) == 1 else None

    @property
    def user(self) -> str:
        return unquote((self.credentials or "").partition(":")[0])

    @property
    def password(self) -> str:
        return unquote((self.credentials or "").partition(":")[2])


def parse_url(text: str) -> Url:
    """Return the parts. Raises BadUrl."""
    found = _URL.fullmatch(text)
    if found is None or not text.isprintable():
        raise BadUrl("its form is scheme://host:port/path")
    authority = found["authority"]
    return Url(
        scheme=found["scheme"].lower(),
        credentials=found["credentials"],
        authority=authority,
        nodes=tuple(map(_node, authority.split(","))) if authority else (),
        path=found["path"],
        query=found["query"] or "",
        fragment=found["fragment"] or "",
    )


def _node(text: str) -> Node:
    """Return host and port. Raises BadUrl."""
    # Normalized first: resolvers do so too, and some characters become a `/` or `@`.
    found = _NODE.fullmatch(normalize("NFKC", text))
    port = int(found["port"]) if found and found["port"] else None
    if found is None or (port or 0) > _MOST_PORT or not (found["name"] or _is_ipv6(found["ipv6"])):
        raise BadUrl("its host or port cannot be used")
    return Node((found["ipv6"] or found["name"]).lower(), port)


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True
