"""The text of a PDF, page by page, by pypdf. Knows nothing of its process's limits."""

from __future__ import annotations

import io
import logging
from collections.abc import Sequence

from pypdf import PdfReader
from pypdf.errors import DependencyError, LimitReachedError, PyPdfError

from webapp.content.attachments.extraction.unreadable import Unreadable

MAX_PAGES = 2000
_PAGES_AT_ONCE = 5
"""Pages between two reports of progress."""
_LEAST_LETTERS = 2
"""Letters of a page on average. A scan has none, and perhaps a stamp on some pages."""

logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # each fault of a file is a line


class Pdf:
    """An opened PDF."""

    def __init__(self, data: bytes) -> None:
        """Raises Unreadable."""
        try:
            self._reader = PdfReader(io.BytesIO(data), strict=False)
            if self._reader.is_encrypted and not self._reader.decrypt(""):
                raise Unreadable("The PDF has a password. Save it without one, then attach it.")
            self._num_pages = len(self._reader.pages)
        except DependencyError:
            raise Unreadable("The PDF is encrypted. Save it without encryption, then attach it.") from None
        except LimitReachedError:
            raise _bomb() from None
        except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise _damaged(error) from None
        if not self._num_pages:
            raise Unreadable("The PDF has no page.")
        if self._num_pages > MAX_PAGES:
            raise Unreadable(f"The PDF has {self._num_pages:,} pages; the limit is {MAX_PAGES:,}. Attach a part of it.")

    @property
    def num_parts(self) -> int:
        return -(-self._num_pages // _PAGES_AT_ONCE)

    def part(self, number: int) -> str:
        """Return the text of a few pages. Raises Unreadable."""
        first = number * _PAGES_AT_ONCE
        pages = range(first, min(first + _PAGES_AT_ONCE, self._num_pages))
        return "".join(f"{self._page(page)}\n\n" for page in pages)

    def _page(self, number: int) -> str:
        try:
            page = self._reader.pages[number]
            text = page.extract_text()
            if not text.strip() and (contents := page.get_contents()) is not None:
                contents.get_data()  # extract_text takes a content beyond pypdf's limit for an empty one
            return text
        except LimitReachedError:
            raise _bomb() from None
        except MemoryError:
            raise
        except Exception as error:  # a damaged page raises whatever its parser met
            raise _damaged(error) from None

    def check(self, texts: Sequence[str]) -> None:
        """Raises Unreadable where the pages have no text."""
        num_letters = sum(char.isalnum() for text in texts for char in text)
        if num_letters < _LEAST_LETTERS * self._num_pages:
            message = "The PDF has no text: its pages are images, as of a scan. Attach a version with text."
            raise Unreadable(message)


def _bomb() -> Unreadable:
    return Unreadable("A part of the PDF unpacks to more than may be read.")


def _damaged(error: Exception) -> Unreadable:
    return Unreadable(f"The PDF is damaged: {f'{error}'[:200] or type(error).__name__}.")
