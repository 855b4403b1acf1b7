"""The text of an HTML page, for a model to read. Knows nothing of where the page is from."""

from __future__ import annotations

from html.parser import HTMLParser

_SILENT = {"script", "style", "template", "noscript", "svg", "head"}
_BREAKS = {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "pre"}


class _Reader(HTMLParser):
    """Collects what a page shows."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent = ""
        """The element whose content is left out; empty: none."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._silent and tag in _SILENT:
            self._silent = tag
        elif tag in _BREAKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._silent:
            self._silent = ""

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)


def text_of_html(page: str) -> str:
    """Return the page's text, without scripts, one block a line."""
    reader = _Reader()
    reader.feed(page)
    lines = (" ".join(line.split()) for line in "".join(reader.parts).splitlines())
    return "\n".join(line for line in lines if line)
