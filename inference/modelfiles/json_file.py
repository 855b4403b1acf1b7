"""JSON files of a Hugging Face folder, read within limits. Knows nothing of their meaning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from inference.modelfiles.errors import damaged

_MAX_BYTES = 64 << 20
"""The largest tokenizer.json of the known families has 35 MB."""


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file. Raises ModelFileError."""
    if not path.is_file():
        raise damaged(path.parent, f"it has no {path.name}")
    if path.stat().st_size > _MAX_BYTES:
        raise damaged(path, f"it has more than {_MAX_BYTES >> 20} MiB")
    try:
        value = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"{error}") from error
    if not isinstance(value, dict):
        raise damaged(path, "it does not hold an object")
    return value
