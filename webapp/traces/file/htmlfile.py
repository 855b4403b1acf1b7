"""A trace as one HTML file that replays without a server, and back. Pure except for reading the built page.

The page is the front end's own inspector (`frontend/src/replay.ts`). It holds the script and style inline, and the
frames as JSON with the SHA-256 of its bytes. Its content security policy allows only that script, and no loading. A
file is untrusted: only its JSON is read, and that is validated.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from inference.protocol.events import Frame
from webapp.traces.file.archive import MAX_BYTES, Archive, TraceFileError
from webapp.traces.file.jsonfile import check_frames

BUILT = Path(__file__).parents[2] / "static" / "app" / "replay"

_TRACE_BEGINS = b'id="trace">'
_DIGEST_CHARS = 100
"""Characters before _TRACE_BEGINS that hold the checksum."""

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
<script type="application/json" data-sha256="{sha256}" id="trace">{trace}</script>
<script>{script}</script>
</body>
</html>
"""


class PageNotBuilt(Exception):
    """The front end was built without the replay page."""


@dataclass(frozen=True)
class ReplayPage:
    """The built page's parts."""

    script: str
    style: str


def read_page(folder: Path | None = None) -> ReplayPage:
    """Read the built page, from BUILT unless another folder is given. Raises PageNotBuilt."""
    try:
        return ReplayPage(*(((folder or BUILT) / name).read_text("utf-8") for name in ("replay.js", "replay.css")))
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
    """The HTML file with the summary's title and all frames. shared: facts about the share link; None: no link."""
    title = str(summary.get("title") or "Request")
    text = msgspec.json.encode({"title": title, "frames": frames} | ({"shared": shared} if shared else {})).decode()
    # In JSON a less-than sign occurs only in strings, where it may be escaped.
    trace = text.replace("<", "\\u003c")
    parts = {
        "policy": policy(page),
        "title": escape(f"{title} · Sightglass"),
        "style": page.style.replace("</style", "<\\/style"),
        "trace": trace,
        "sha256": hashlib.sha256(trace.encode()).hexdigest(),
        "script": _script(page),
    }
    return _PAGE.format(**parts).encode()


class _Trace(msgspec.Struct):
    title: str
    frames: list[Frame]


def decode_html(data: bytes) -> Archive:
    """The trace of a file that to_html made. Raises TraceFileError."""
    if len(data) > MAX_BYTES:
        raise TraceFileError(f"The file is larger than {MAX_BYTES >> 20} MiB, the limit for a trace.")
    before, mark, after = data.partition(_TRACE_BEGINS)
    if not mark:
        raise TraceFileError(
            "The page holds no Sightglass trace. You can import the trace file, JSON and HTML exports."
        )
    text, end, _ = after.partition(b"</script>")
    if not end:
        raise TraceFileError("The file is truncated.")
    stated = re.search(rb'data-sha256="(\w+)" $', before[-_DIGEST_CHARS:])
    if stated is None or hashlib.sha256(text).hexdigest().encode() != stated[1]:
        raise TraceFileError("The file is damaged or was changed (its checksum does not match).")
    try:
        trace = msgspec.json.decode(text, type=_Trace)
        check_frames(trace.frames)
    except (ValueError, RecursionError) as error:
        raise TraceFileError(f"The trace's events are not valid: {error}") from error
    return Archive({"title": trace.title}, trace.frames)


def _script(page: ReplayPage) -> str:
    """The script with its end tags escaped, so that nothing in it ends its element."""
    return page.script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
