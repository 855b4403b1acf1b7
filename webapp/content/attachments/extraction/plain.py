"""Text files: the encoding is UTF-8, or that of a byte order mark. Pure."""

from __future__ import annotations

import codecs

from webapp.content.attachments.extraction.unreadable import Unreadable

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""A mark of UTF-32 begins like one of UTF-16, so it comes first."""


def decoded(data: bytes) -> str:
    """Return the text. Raises Unreadable."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        message = f"The file is no text in UTF-8: byte {error.start + 1:,} is wrong. Save it as UTF-8."
        raise Unreadable(message) from None
    if "\x00" in text:
        raise Unreadable("The file has zero bytes, so it is no text.")
    return text
