"""A file, opened by its kind: its text in parts. The one way from bytes to text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from webapp.content.attachments.extraction import docx, html, plain
from webapp.content.attachments.extraction.kinds import DOCX, HTML, PDF, kind_of
from webapp.content.attachments.extraction.pdf import Pdf
from webapp.content.attachments.extraction.unreadable import Unreadable

MAX_CHARS = 2_000_000
"""Longest text: some 700 pages, a minute of embedding."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Document(Protocol):
    """An opened file."""

    @property
    def num_parts(self) -> int: ...

    def part(self, number: int) -> str:
        """Raises Unreadable."""

    def check(self, texts: Sequence[str]) -> None:
        """Look at the texts of all parts. Raises Unreadable."""


class _Whole:
    """A file whose text is there at once."""

    num_parts = 1

    def __init__(self, text: str) -> None:
        self._text = text

    def part(self, number: int) -> str:
        return self._text

    def check(self, texts: Sequence[str]) -> None:
        if not any(char.isalnum() for text in texts for char in text):
            raise Unreadable("The file has no text.")


class Opened:
    """A file and its parts so far."""

    def __init__(self, name: str, data: bytes) -> None:
        """Raises Unreadable."""
        self.kind = kind_of(name, data)
        self._document = _opened(self.kind, data)
        self.num_parts = self._document.num_parts
        self._parts: list[str] = []

    def next_part(self) -> str:
        """Return the next part, cleaned. Raises Unreadable, with the last part also for the whole."""
        text = cleaned(self._document.part(len(self._parts)))
        self._parts.append(text)
        if sum(map(len, self._parts)) > MAX_CHARS:
            raise Unreadable(f"The file's text has more than {MAX_CHARS:,} characters, the limit. Attach a part of it.")
        if len(self._parts) == self.num_parts:
            self._document.check(self._parts)
        return text


def _opened(kind: str, data: bytes) -> Document:
    match kind:
        case _ if kind == PDF:
            return Pdf(data)
        case _ if kind == DOCX:
            return _Whole(docx.text_of(data))
        case _ if kind == HTML:
            return _Whole(html.text_of(data))
    return _Whole(plain.decoded(data))


def cleaned(text: str) -> str:
    """The text with one kind of line end, without control characters, and with whole characters alone."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", lines).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
