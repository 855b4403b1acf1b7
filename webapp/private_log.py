"""What the web process logs, without the secrets that stand in addresses. Knows nothing of what is logged."""

from __future__ import annotations

import logging
import re
from urllib.parse import quote, unquote

_SECRET = re.compile(r"(/(?:shared|signin)/)[^\s'\"<>]+")
"""Whoever knows such an address may look, or sign in: webapp/urls.py."""


def without_secrets(text: str) -> str:
    """With `***` in the place of each token."""
    return _SECRET.sub(r"\1***", text)


def path_without_secrets(path: str) -> str:
    """The same for an address as it was sent, in which any letter may be escaped."""
    plain = unquote(path)
    cut = without_secrets(plain)
    return path if cut == plain else quote(cut, safe="/*")


class LineFormatter(logging.Formatter):
    """Django's own messages name the address that was asked for."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))
