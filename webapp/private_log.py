"""Removes the secrets in addresses from the web process's log. Knows nothing of the messages."""

from __future__ import annotations

import logging
import re
from typing import Any
from urllib.parse import quote, unquote

from inference.logs.lines import JsonFormatter

_SECRET = re.compile(r"(/(?:shared|signin)/)[^\s'\"<>]+")
"""Such an address alone opens a trace or signs a user in: webapp/urls.py."""
_KEY = re.compile(r"(sg-[0-9A-Za-z]{8})[0-9A-Za-z]{20,}")
"""A key that a client put where none belongs, such as in an address."""


def without_secrets(text: str) -> str:
    """Return the text with `***` in place of each token."""
    return _KEY.sub(r"\1***", _SECRET.sub(r"\1***", text))


def path_without_secrets(target: str) -> str:
    """Return a raw request target without secrets; any of its letters may be percent-escaped.

    A query is a secret too: a search has the user's own words.
    """
    path, mark, _ = target.partition("?")
    plain = unquote(path)
    cut = without_secrets(plain)
    return (path if cut == plain else quote(cut, safe="/*")) + (mark and "?***")


class LineFormatter(logging.Formatter):
    """Removes secrets from log lines: Django's own messages name the requested address."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class PrivateJsonFormatter(JsonFormatter):
    """Removes the same secrets from each field, before it becomes JSON."""

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        found = super().fields(record)
        return {name: without_secrets(value) if isinstance(value, str) else value for name, value in found.items()}
