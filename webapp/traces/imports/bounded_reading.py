"""Reads an import in a bounded process, before the site reads it. Knows nothing of what is saved.

A short file may unpack to gigabytes of objects. The process reads it as the site would, and ends where it takes too
much. The site then holds no more than the process did.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

from inference.sandbox.kept_process import Exceeded, Kept
from inference.sandbox.sandbox import Bounds
from webapp.traces.file.archive import TraceFileError

_ROOT = Path(__file__).parents[3]
_WORK = Path(__file__).with_name("import_sandbox.py")
_LOADING = Bounds(time_limit_s=60, memory_bytes=0)
_READING = Bounds(time_limit_s=60, memory_bytes=256 << 20)
"""8,192 tokens with 20 candidates each take some 60 MB and a second. An archive is read trace by trace."""
_PATIENCE_S = 240.0
"""Longest wait for the process, which runs after all other work."""


class BoundedReading:
    """Any thread may use it. The process is started by the first import, and kept."""

    def __init__(self, work: Path = _WORK) -> None:
        """work: the program of the process."""
        self._kept = Kept(work, _LOADING, lambda: {"root": str(_ROOT)}, _READING, _PATIENCE_S)

    def check(self, data: bytes) -> None:
        """Raises TraceFileError; SandboxError, where the file is not to blame."""
        with tempfile.NamedTemporaryFile(prefix="sightglass-import-") as file, closing(self._kept.copy()) as copy:
            file.write(data)
            file.flush()
            copy.send({"path": file.name})
            try:
                problem = copy.receive()["problem"]
            except Exceeded as error:
                raise TraceFileError(f"The file is too large to read: {error}. Import a shorter trace.") from None
        if problem is not None:
            raise TraceFileError(problem)


@cache
def bounded_reading() -> BoundedReading:
    """This process's reading."""
    return BoundedReading()
