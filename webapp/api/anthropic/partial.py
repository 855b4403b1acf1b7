"""JSON that breaks off, as the value it is so far. Pure."""

from __future__ import annotations

import json
from typing import Any

_CLOSING = {"{": "}", "[": "]"}


def value_so_far(text: str) -> dict[str, Any]:
    """Return the object that a beginning of its JSON tells of. A text or name that is not complete is left out."""
    safe, open_then, open_now = 0, "", ""
    is_quoted = is_escaped = False
    for place, character in enumerate(text):
        if is_quoted:
            is_quoted = is_escaped or character != '"'
            is_escaped = character == "\\" and not is_escaped
        elif character == '"':
            is_quoted = True
        elif character in _CLOSING:
            open_now = _CLOSING[character] + open_now
            safe, open_then = place + 1, open_now
        elif character in "}]":
            open_now = open_now[1:]
            safe, open_then = place + 1, open_now
        elif character == ",":
            safe, open_then = place, open_now
    return _parsed(text + open_now) or _parsed(text[:safe] + open_then) or {}


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
