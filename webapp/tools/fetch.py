"""Reads a text from a host that the operator allows. Redirects lead to no other host.

The address is checked after the name is resolved, and the connection is made to the checked address. A second
resolution cannot lead elsewhere.
"""

from __future__ import annotations

import asyncio
import codecs
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from django.conf import settings

from inference.protocol.tool_calls import Tool
from webapp.addresses import Resolve, is_public, resolve
from webapp.tools.html_text import text_of_html
from webapp.tools.tool import Asker, BuiltIn, ToolError

_MOST_URL_CHARS = 500
_MOST_REDIRECTS = 3
_PORTS = {"http": 80, "https": 443}
_TEXTS = ("text/", "application/json", "application/xml", "application/xhtml+xml", "application/atom+xml")
_HTML = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True)
class Fetcher:
    """The way to hosts outside."""

    hosts: Sequence[str]
    """Entries `host`, `host:port`, `host=address` or `host:port=address`."""
    resolved: Resolve = resolve
    most_s: float = 10.0
    """Time for all: redirects, headers and body."""
    most_bytes: int = 256 << 10
    """Of a body. A longer one is cut off, and said to be."""
    headers: Mapping[str, str] = field(
        default_factory=lambda: {"User-Agent": "Sightglass", "Accept": "text/*", "Accept-Encoding": "identity"}
    )

    def fetch(self, text: str) -> str:
        """Return the text at a URL. Raises ToolError."""
        try:
            return asyncio.run(self._within_time(_url_of(text)))
        except TimeoutError:
            raise ToolError(f"No whole answer within {self.most_s:g} s.") from None
        except httpx.HTTPError as error:
            raise ToolError(f"The host could not be read: {type(error).__name__}.") from None

    async def _within_time(self, url: httpx.URL) -> str:
        async with asyncio.timeout(self.most_s):
            return await self._followed(url)

    async def _followed(self, url: httpx.URL) -> str:
        for _ in range(_MOST_REDIRECTS + 1):
            found = await self._read(url)
            if isinstance(found, str):
                return found
            if found.host != url.host:
                raise ToolError(f"The answer leads to another host, {found.host[:100]}, which is not followed.")
            url = found
        raise ToolError(f"The answer leads on more than {_MOST_REDIRECTS} times.")

    async def _read(self, url: httpx.URL) -> str | httpx.URL:
        """Return the text, or the address that it is at."""
        address = await asyncio.to_thread(self._address_of, url)
        request = httpx.Request(
            "GET",
            url.copy_with(host=address, fragment=None),
            headers={**self.headers, "Host": url.netloc.decode("ascii")},
            extensions={"sni_hostname": url.host, "timeout": httpx.Timeout(self.most_s).as_dict()},
        )
        async with httpx.AsyncHTTPTransport(trust_env=False) as transport:
            response = await transport.handle_async_request(request)
            try:
                return await self._told(url, response)
            finally:
                await response.aclose()

    def _address_of(self, url: httpx.URL) -> str:
        """Return an address of the URL's host that it may have. Raises ToolError."""
        port = url.port or _PORTS[url.scheme]
        entries = [each.partition("=") for each in self.hosts]
        own = [address for name, _, address in entries if name in _names(url.host, port, url.scheme)]
        if not own:
            raise ToolError(f"The operator does not allow {url.host[:100]}, port {port}.")
        try:
            found = self.resolved(url.host, port)
        except (OSError, UnicodeError):
            raise ToolError(f"The name {url.host[:100]} has no address now.") from None
        if not found or not all(is_public(each) or each in own for each in found):
            raise ToolError(f"{url.host[:100]} has no public address.")
        return found[0]

    async def _told(self, url: httpx.URL, response: httpx.Response) -> str | httpx.URL:
        if response.is_redirect:
            return _url_of(str(url.join(response.headers["location"])))
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not kind.startswith(_TEXTS):
            raise ToolError(f"The answer is no text but {kind[:100] or 'without a type'}.")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ToolError("The answer is compressed, which was not asked for.")
        data = await self._body(response)
        text = data[: self.most_bytes].decode(_encoding(response), "replace")
        told = text_of_html(text) if kind in _HTML else text
        cut = f"\n(cut off after {self.most_bytes >> 10} KiB)" if len(data) > self.most_bytes else ""
        return f"{response.status_code}, {kind}\n{told}{cut}"

    async def _body(self, response: httpx.Response) -> bytes:
        data = bytearray()
        async for chunk in response.aiter_raw():
            data += chunk
            if len(data) > self.most_bytes:
                break
        return bytes(data)


def _encoding(response: httpx.Response) -> str:
    try:
        return codecs.lookup(response.charset_encoding or "utf-8").name
    except LookupError:
        return "utf-8"


def _names(host: str, port: int, scheme: str) -> tuple[str, ...]:
    """The names under which the operator's list may have it: without a port it means the usual one."""
    return (f"{host}:{port}", host) if port == _PORTS[scheme] else (f"{host}:{port}",)


def _url_of(text: str) -> httpx.URL:
    """Return the URL. Raises ToolError."""
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError):
        raise ToolError("This is no URL.") from None
    if url.scheme not in _PORTS or not url.host or url.userinfo or len(text) > _MOST_URL_CHARS:
        raise ToolError("A URL has the form https://host/path, without a user name.")
    return url


def _fetch(arguments: Mapping[str, Any], _: Asker) -> str:
    return Fetcher(settings.ENVIRONMENT.fetch_hosts).fetch(str(arguments["url"]))


FETCH = BuiltIn(
    Tool(
        name="fetch",
        description="Reads a web page or another text by its URL. The operator allows certain hosts alone.",
        parameters=json.dumps(
            {
                "type": "object",
                "properties": {"url": {"type": "string", "maxLength": _MOST_URL_CHARS}},
                "required": ["url"],
                "additionalProperties": False,
            }
        ),
        is_strict=True,
    ),
    "Read a web page",
    _fetch,
    is_offered=lambda: bool(settings.ENVIRONMENT.fetch_hosts),
)
