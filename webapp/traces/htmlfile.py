"""A trace as one HTML file that replays with no server. Pure but for reading the built page.

The page is the front end's own inspector (`frontend/src/replay.ts`), its script and style inlined, the frames beside
them as JSON. Its content security policy lets that one script run and lets it load nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from inference.protocol.events import Frame

BUILT = Path(__file__).parent.parent / "static" / "app" / "replay"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<script type="application/json" id="trace">{trace}</script>
<script>{script}</script>
</body>
</html>
"""


class PageNotBuilt(Exception):
    """The front end was built without the page that replays."""


@dataclass(frozen=True)
class ReplayPage:
    """The built page's parts."""

    script: str
    style: str


def read_page(folder: Path = BUILT) -> ReplayPage:
    """Raises PageNotBuilt."""
    try:
        return ReplayPage(*((folder / name).read_text("utf-8") for name in ("replay.js", "replay.css")))
    except OSError as error:
        raise PageNotBuilt(str(error)) from error


def policy(page: ReplayPage) -> str:
    """The content security policy of every file with this page."""
    digest = base64.b64encode(hashlib.sha256(_script(page).encode()).digest()).decode()
    only = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src 'sha256-{digest}'; {only}"


def to_html(
    page: ReplayPage, frames: Sequence[Frame], summary: dict[str, Any], shared: dict[str, Any] | None = None
) -> bytes:
    """The bytes of the file: the summary's title and every frame; shared: what is said of the link it came by."""
    title = str(summary.get("title") or "Request")
    trace = msgspec.json.encode({"title": title, "frames": frames} | ({"shared": shared} if shared else {})).decode()
    parts = {
        "policy": policy(page),
        "title": escape(f"{title} · Sightglass"),
        "style": page.style.replace("</style", "<\\/style"),
        # In JSON a less-than sign stands only in texts, where it may be written as an escape.
        "trace": trace.replace("<", "\\u003c"),
        "script": _script(page),
    }
    return _PAGE.format(**parts).encode()


def _script(page: ReplayPage) -> str:
    """So that nothing in it ends the element it stands in."""
    return page.script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
