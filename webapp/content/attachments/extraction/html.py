"""The text of an HTML page as a browser would show it, by lxml. Knows nothing of its process's limits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from webapp.content.attachments.extraction.plain import decoded
from webapp.content.attachments.extraction.unreadable import Unreadable

_UNSHOWN = frozenset(["script", "style", "template", "noscript", "head", "svg", "math", "iframe", "object", "canvas"])
_BLOCKS = re.compile(
    r"address|article|aside|blockquote|br|dd|div|dl|dt|fieldset|figcaption|figure|footer|"
    r"form|h1|h2|h3|h4|h5|h6|header|hr|li|main|nav|ol|p|pre|section|table|tr|ul"
)
_CELLS = frozenset(("td", "th"))
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0", re.IGNORECASE)
_NESTED = "Excessive depth"
_SPACES = re.compile(r"[ \t\f\v\xa0]+")


def text_of(data: bytes) -> str:
    """Raises Unreadable. What an attribute or a style of its own hides is left out: no reader sees it."""
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(decoded(data).encode(), parser)
    except (etree.LxmlError, ValueError) as error:
        raise Unreadable(f"The HTML cannot be read: {f'{error}'[:200]}.") from None
    if any(_NESTED.lower() in entry.message.lower() for entry in parser.error_log):
        raise Unreadable("The HTML is nested too deeply to be read.")
    return "" if root is None else _tidy("".join(_pieces(root)))


def _pieces(root: etree._Element) -> Iterator[str]:
    """Walks without recursion; a subtree that is not shown is skipped whole."""
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        name = element.tag if isinstance(element.tag, str) else ""
        is_shown = _is_shown(name, element)
        if event == "start":
            yield "\n" if _BLOCKS.fullmatch(name) else ""
            if is_shown:
                yield _SPACES.sub(" ", element.text or "") if name != "pre" else element.text or ""
            else:
                walk.skip_subtree()
            continue
        yield "\n" if _BLOCKS.fullmatch(name) else "\t" if name in _CELLS else ""
        yield _SPACES.sub(" ", element.tail or "")


def _is_shown(name: str, element: etree._Element) -> bool:
    if name in _UNSHOWN or "hidden" in element.attrib:
        return False
    return _HIDDEN.search(element.get("style", "")) is None


def _tidy(text: str) -> str:
    return re.sub(r"\n[ \t\n]*\n", "\n\n", re.sub(r"[ \t]*\n[ ]*", "\n", text)).strip()
