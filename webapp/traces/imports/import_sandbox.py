"""The work of the process that reads an import before the site does: see `BoundedReading`.

    {"root": folder of the project}     {}: the modules are loaded
    {"path": file}                      {"problem": why the file is no trace and no archive of traces, or null}

The work holds the same objects as the site's own reading would.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class Work:
    """Loads the modules once, for all copies."""

    def __init__(self) -> None:
        self._reading: Any = None

    def answer(self, job: dict[str, Any]) -> dict[str, Any]:
        if "root" in job:
            sys.path.insert(0, job["root"])
            site = ModuleType("webapp")  # the package without its set-up: no settings, no Celery
            site.__path__ = [str(Path(job["root"], "webapp"))]
            sys.modules["webapp"] = site
            self._reading = importlib.import_module("webapp.traces.imports.reading")
            return {}
        return {"problem": self._reading.problem_of(Path(job["path"]).read_bytes())}
