"""The MCP servers of the operator's file, in the form that MCP clients share. Starts and reaches none of them.

No message repeats a value of the file: it may be a secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_plus

from django.conf import settings

from inference.protocol.url import BadUrl, parse_url
from webapp.ground.gateway.json_faults import fault_in

MAX_NAME = 40
_NAME = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
"""Without `__` and without `_` at an end: the first `__` of a tool's name ends the server's name."""
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MEMBERS = {"command": {"type", "command", "args", "env"}, "url": {"type", "url", "headers"}}
_TYPES = {"stdio": "command", "http": "url", "streamable-http": "url"}
_LEAST_SECRET = 8
"""Characters of a value that counts as a secret. A shorter one, such as `1`, would hide ordinary text."""
_HIDDEN = "***"


class ConfigError(Exception):
    """The file cannot be used; the exception's text names the server and the member."""


@dataclass(frozen=True)
class Server:
    """One MCP server: a program that is started, or an address."""

    name: str
    command: tuple[str, ...] = field(default=(), repr=False)
    """The program and its arguments; empty: the server is at `url`."""
    url: str = field(default="", repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def target(self) -> str:
        """All that decides which program or address is reached. It may hold secrets."""
        return json.dumps(self.command or self.url)

    @property
    def shown(self) -> str:
        """The same in words for the operator, without what may be secret."""
        if self.command:
            return f"program {Path(self.command[0]).name}"
        parts = parse_url(self.url)
        return f"{parts.scheme}://{parts.authority}"

    def without_secrets(self, text: str) -> str:
        """Return the text with `***` in place of each secret of the file."""
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text

    def without_secrets_in(self, value: Any) -> Any:
        """Return a JSON value with `***` in place of each secret in its texts. Its keys and numbers stay."""
        match value:
            case str():
                return self.without_secrets(value)
            case dict():
                return {key: self.without_secrets_in(inner) for key, inner in value.items()}
            case list():
                return [self.without_secrets_in(inner) for inner in value]
        return value

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        """The longest first: another may be a part of it."""
        values = [*self.env.values(), *self.headers.values()]
        words = [word for value in self.headers.values() for word in value.split()]
        found = {each for each in (*values, *words, *_in_query(self.url)) if len(each) >= _LEAST_SECRET}
        return tuple(sorted(found, key=len, reverse=True))


def _in_query(url: str) -> Iterator[str]:
    """The values of an address's query, as the file has them and as its server reads them."""
    for part in url.partition("#")[0].partition("?")[2].split("&"):
        name, equals, value = part.partition("=")
        raw = value if equals else name
        yield from (raw, unquote(raw), unquote_plus(raw))


def servers() -> Mapping[str, Server]:
    """The servers of the operator's file by name; none without a file. Raises ConfigError where it cannot be used."""
    path = settings.ENVIRONMENT.mcp_config
    return {} if path is None else _servers_of(path)


@cache
def _servers_of(path: Path) -> Mapping[str, Server]:
    """Read a file once for each process."""
    try:
        text = path.read_text("utf-8")
        given: Any = json.loads(text, object_pairs_hook=_once)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror})") from None
    except json.JSONDecodeError:
        raise ConfigError(f"{path} is no JSON: {fault_in(text)}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path} is no JSON in UTF-8") from None
    return parsed(given)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"it has {twice[:100]!r} twice in one object")
    return found


def parsed(given: Any) -> Mapping[str, Server]:
    """Return the servers of a file's content. Raises ConfigError."""
    listed = given.get("mcpServers") if isinstance(given, dict) else None
    if not isinstance(listed, dict) or len(given) > 1:
        raise ConfigError('its form is {"mcpServers": {"name": {"command": "…"} or {"url": "…"}}}')
    return {name: _server(name, members) for name, members in listed.items()}


def _server(name: str, given: Any) -> Server:
    problem = next(_problems(name, given), None)
    if problem is not None:
        raise ConfigError(f"the server {name[:100]!r} {problem}")
    if "command" in given:
        return Server(name, command=(given["command"], *given.get("args", ())), env=given.get("env", {}))
    return Server(name, url=given["url"], headers=given.get("headers", {}))


def _problems(name: str, given: Any) -> Iterator[str]:
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        yield f"needs a name of at most {MAX_NAME} letters, digits, - and single _ between them"
    if not isinstance(given, dict) or ("command" in given) == ("url" in given):
        yield "needs either a command or a url"
        return
    kind = "command" if "command" in given else "url"
    for member in given.keys() - _MEMBERS[kind]:
        yield f"has the member {member[:100]!r}; beside {kind!r} it takes {_words(_MEMBERS[kind] - {kind})}"
    if "type" in given and _TYPES.get(str(given["type"])) != kind:
        types = [name for name, of in _TYPES.items() if of == kind]
        yield f"has a type that does not go with {kind!r}; use {' or '.join(types)}, or leave it out"
    yield from _of_program(given) if kind == "command" else _of_address(given)


def _of_program(given: Mapping[str, Any]) -> Iterator[str]:
    if not _is_text(given["command"]) or not given["command"]:
        yield "has a command that is no text"
    if not isinstance(args := given.get("args", []), list) or not all(map(_is_text, args)):
        yield "has args that are no list of texts"
    env = given.get("env", {})
    if not isinstance(env, dict) or not all(map(_is_text, env.values())):
        yield "has an env that is no object of texts"
    elif wrong := next((each for each in env if not each or "=" in each or "\x00" in each), None):
        yield f"has the name {wrong[:100]!r} in its env"


def _of_address(given: Mapping[str, Any]) -> Iterator[str]:
    if not _is_text(given["url"]) or not _is_address(given["url"]):
        yield "has a url that is no http:// or https:// address without a user name"
    headers = given.get("headers", {})
    if not isinstance(headers, dict) or not all(map(_is_header, headers.values())):
        yield "has headers that are no object of texts in visible ASCII"
    elif wrong := next((each for each in headers if not _HEADER.fullmatch(each)), None):
        yield f"has the name {wrong[:100]!r} in its headers"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\x00" not in value


def _is_header(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable()


def _is_address(url: str) -> bool:
    try:
        parts = parse_url(url)
    except BadUrl:
        return False
    has_host = bool(parts.host) and parts.credentials is None and parts.port != 0
    return parts.scheme in ("http", "https") and has_host and " " not in url


def _words(names: set[str]) -> str:
    return ", ".join(sorted(names))
