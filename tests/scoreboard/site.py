"""A running product as the trials reach it, whatever starts and ends its processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import httpx


class Site(Protocol):
    """A site, a client that is signed in there, and its database."""

    client: httpx.Client
    connect: Callable[[], Any]
    """Opens the product's database."""

    def send(self, text: str, **params: object) -> str:
        """Send a message in a conversation of its own; the request's id."""
        ...
