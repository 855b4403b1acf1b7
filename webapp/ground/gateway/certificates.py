"""The certificate authorities by which the site believes a server that it calls. Knows nothing of the servers."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def authorities(trust_env: bool) -> ssl.SSLContext:
    """Read them once: that takes tens of ms, in which an event loop would do nothing else.

    trust_env: the environment may name other authorities.
    """
    return httpx.create_ssl_context(trust_env=trust_env)
