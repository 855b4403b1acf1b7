"""The built pages of the front end: Vite's manifest. Knows nothing of what a page shows."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

_MANIFEST = Path(settings.BASE_DIR) / "webapp" / "static" / "app" / ".vite" / "manifest.json"


def built(source: str) -> dict[str, Any] | None:
    """Script and styles of the page with this entry, for `shell.html`; None: it is not built."""
    entry = _manifest().get(source)
    return None if entry is None else {"script": entry["file"], "styles": entry.get("css", [])}


@cache
def _manifest() -> dict[str, Any]:
    if not _MANIFEST.is_file():
        return {}
    manifest: dict[str, Any] = json.loads(_MANIFEST.read_text("utf-8"))
    return manifest
