"""The work of the process that reads attached files: see `BoundedExtraction`.

    {"root": folder of the project}      {}: the modules are loaded
    {"path": file, "name": its name}     {"kind": media type, "num_parts": number}
    {"part": true}                       {"text": the next part}

A file that cannot be read is answered with {"refused": why}.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class Work:
    """Loads the modules once, for all copies. A copy reads one file."""

    def __init__(self) -> None:
        self._documents: Any = None
        self._refusal: Any = None
        self._opened: Any = None

    def answer(self, job: dict[str, Any]) -> dict[str, Any]:
        if "root" in job:
            return self._load(job["root"])
        try:
            return self._open(job) if "path" in job else {"text": self._opened.next_part()}
        except self._refusal as refused:
            return {"refused": str(refused)}

    def _load(self, root: str) -> dict[str, Any]:
        sys.path.insert(0, root)
        site = ModuleType("webapp")  # the package without its set-up: no settings, no Celery
        site.__path__ = [str(Path(root, "webapp"))]
        sys.modules["webapp"] = site
        self._documents = importlib.import_module("webapp.content.attachments.extraction.document")
        self._refusal = importlib.import_module("webapp.content.attachments.extraction.unreadable").Unreadable
        return {}

    def _open(self, job: dict[str, Any]) -> dict[str, Any]:
        self._opened = self._documents.Opened(job["name"], Path(job["path"]).read_bytes())
        return {"kind": self._opened.kind, "num_parts": self._opened.num_parts}
