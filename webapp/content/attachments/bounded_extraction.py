"""Reads a file in a bounded process, part by part. Knows nothing of what is kept of it.

A short file may unpack to gigabytes or keep a parser busy for hours. Its process ends where it takes too much.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from inference.sandbox.kept_process import Copy, Exceeded, Kept
from inference.sandbox.sandbox import Bounds
from webapp.content.attachments.extraction.unreadable import Unreadable

_ROOT = Path(__file__).parents[3]
_WORK = Path(__file__).with_name("extraction") / "work.py"
_LOADING = Bounds(time_limit_s=60, memory_bytes=0)
_READING = Bounds(time_limit_s=20, memory_bytes=512 << 20)
"""For each part. Five dense pages take a tenth of a second, and a DOCX of 64 MiB some 300 MB."""
_PATIENCE_S = 120.0
_WHOLE_S = 240.0
"""Time by the clock for all parts of a file: the process runs after all other work."""


@dataclass(frozen=True)
class Extracted:
    """The text of a file, and its media type as its content tells it."""

    text: str
    media_type: str


class BoundedExtraction:
    """Any thread may use it. The process is started by the first file, and kept."""

    def __init__(self, reading: Bounds = _READING) -> None:
        self._kept = Kept(_WORK, _LOADING, lambda: {"root": str(_ROOT)}, reading, _PATIENCE_S)

    def extract(self, name: str, data: bytes, told: Callable[[float], None]) -> Extracted:
        """Return the text. told: is told the share that is read, 0 to 1.

        Raises Unreadable; SandboxError, where the file is not to blame.
        """
        with tempfile.NamedTemporaryFile(prefix="sightglass-file-") as file, closing(self._kept.copy()) as copy:
            file.write(data)
            file.flush()
            deadline = time.monotonic() + _WHOLE_S
            opened = _asked(copy, {"path": file.name, "name": name})
            parts = list[str]()
            while len(parts) < opened["num_parts"]:
                if time.monotonic() > deadline:
                    raise Unreadable(f"The file takes more than {_WHOLE_S:g} s to read. Attach a part of it.")
                parts.append(_asked(copy, {"part": True})["text"])
                told(len(parts) / opened["num_parts"])
            return Extracted("".join(parts), opened["kind"])


def _asked(copy: Copy, job: dict[str, Any]) -> dict[str, Any]:
    copy.send(job)
    try:
        reply = copy.receive()
    except Exceeded as error:
        raise Unreadable(f"The file cannot be read: {error}. Attach a part of it.") from None
    if "refused" in reply:
        raise Unreadable(reply["refused"])
    return reply


@cache
def bounded_extraction() -> BoundedExtraction:
    """This process's extraction."""
    return BoundedExtraction()
