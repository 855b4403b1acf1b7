"""The kind of a file by its first bytes, compared with its name. Pure."""

from __future__ import annotations

import re
from pathlib import PurePath

from webapp.content.attachments.extraction.unreadable import Unreadable

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
HTML = "text/html"
PLAIN = "text/plain"

_PDF_WITHIN = 1024
"""Bytes within which a PDF begins."""
_IMAGES = {b"\x89PNG\r\n\x1a\n": "PNG", b"\xff\xd8\xff": "JPEG", b"GIF87a": "GIF", b"GIF89a": "GIF"}
_OTHERS = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "a Word file that is old or has a password",
    b"\x7fELF": "a program",
    b"MZ": "a program",
    b"\x1f\x8b": "a gzip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"BZh": "a bzip2 archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
    b"\xfd7zXZ\x00": "an XZ archive",
    b"SQLite format 3\x00": "a database",
}
_BY_ENDING = {".pdf": PDF, ".docx": DOCX}
_IMAGE_ENDINGS = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
_TEXTS = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".json": "application/json",
    ".xml": "application/xml",
    ".txt": PLAIN,
}
_CODE = re.compile(
    r"\.(?:"
    r"c|cc|cpp|cs|css|go|h|hpp|java|js|jsx|kt|lua|php|pl|py|r|rb|rs|scala|sh|sql|"
    r"svelte|swift|toml|ts|tsx|vue|yaml|yml"
    r")"
)
_HTML_START = re.compile(rb"\s*(?:<!--.{0,500}?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_NAMES = {PDF: "a PDF", DOCX: "a ZIP archive, as DOCX files are"}


def kind_of(name: str, data: bytes) -> str:
    """Return the media type of a text or document. Raises Unreadable, for a picture too: see `pictures`."""
    if not data.strip():
        raise Unreadable("The file is empty.")
    ending = PurePath(name).suffix.lower()
    if (image := _image(data)) is not None:
        raise Unreadable(f"The file is a {image} image, and has no text to read.")
    if (
        other := next((told for start, told in _OTHERS.items() if data.startswith(start) and _is_binary(data)), None)
    ) is not None:
        raise Unreadable(f"The file is {other}. Attach text, Markdown, code, CSV, PDF, HTML or DOCX.")
    found = PDF if b"%PDF-" in data[:_PDF_WITHIN] else DOCX if data.startswith(b"PK\x03\x04") else ""
    if found:
        return _as_named(found, ending)
    if ending in _BY_ENDING or ending in _IMAGE_ENDINGS:
        raise Unreadable(f"The file's name ends in {ending}, but its content is something else.")
    return _text_kind(ending, data)


def _image(data: bytes) -> str | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP"
    return next((told for start, told in _IMAGES.items() if data.startswith(start) and _is_binary(data)), None)


def _is_binary(data: bytes) -> bool:
    return b"\x00" in data[:4096] or not data[:4096].isascii()


def _as_named(found: str, ending: str) -> str:
    """A name that promises another kind is false. A name that promises none is no fault."""
    if is_promise(ending) and _BY_ENDING.get(ending) != found:
        raise Unreadable(f"The file's name ends in {ending}, but its content is {_NAMES[found]}.")
    return found


def is_promise(ending: str) -> bool:
    """True of the ending of a kind that is known here. Any other, such as that of `Shot at 18.14`, promises nothing."""
    is_known = ending in _BY_ENDING or ending in _IMAGE_ENDINGS or ending in _TEXTS
    return is_known or _CODE.fullmatch(ending) is not None


def _text_kind(ending: str, data: bytes) -> str:
    if ending in _TEXTS:
        return _TEXTS[ending]
    if _CODE.fullmatch(ending):
        return "text/x-code"
    start = data[3:2048] if data.startswith(b"\xef\xbb\xbf") else data[:2048]
    return HTML if _HTML_START.match(start) else PLAIN
