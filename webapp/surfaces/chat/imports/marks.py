"""Placeholders for content that is not imported, and the dates of other systems. Plain values."""

from __future__ import annotations

from datetime import UTC, datetime

IMAGE = "[image left out]"
RECORDING = "[recording left out]"
TOOL_CALL = "[tool call left out]"
TOOL_RESULT = "[tool's result left out]"
REASONING = "[reasoning left out]"

_MAX_NAME_CHARS = 100
_LATEST = datetime(2200, 1, 1, tzinfo=UTC).timestamp()


def left_out(kind: str) -> str:
    """The placeholder for content of an unknown kind."""
    return f"[{_short(kind) or 'part'} left out]"


def file_left_out(name: object) -> str:
    return f"[file left out: {_short(name)}]" if isinstance(name, str) and name.strip() else "[file left out]"


def _short(name: object) -> str:
    words = "".join(char if char.isprintable() and char not in "[]" else " " for char in str(name)[:_MAX_NAME_CHARS])
    return " ".join(words.split())


def moment(value: float | str | None) -> float | None:
    """Seconds since 1970 from a number (s, ms or ns) or an ISO date; None: not a plausible date."""
    try:
        at = value if isinstance(value, int | float) else _of_iso(value or "")
    except (ValueError, OverflowError):
        return None
    for unit in (1, 1e-3, 1e-9):
        if 0 < at * unit < _LATEST:
            return at * unit
    return None


def _of_iso(text: str) -> float:
    date = datetime.fromisoformat(text)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def file_name(name: str | None) -> str:
    """The line above a file's own text; empty where it has no name."""
    return f"[file: {_short(name)}]\n\n" if name and name.strip() else ""
