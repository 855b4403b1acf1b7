"""Keeps compiled libraries in a folder, each under a name with its checksum. Knows nothing of compilers.

A library that is cut short ends the process that loads it: a read beyond the file's end is SIGBUS. No process can catch
that. So each file is compared with its name before it is loaded. A damaged file is removed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)

_KEPT_S = 30 * 86_400
"""Age in seconds at which a library of another version or machine is removed: it is not needed again soon."""


def kept_path(stem: str, directory: Path, data: bytes) -> Path:
    """Return the file that keeps a library of these bytes."""
    return directory.resolve() / f"{stem}-{hashlib.sha256(data).hexdigest()[:16]}.so"


def find_kept(stem: str, directory: Path) -> Path | None:
    """Return a library that is whole; None: there is none. Removes damaged ones where the folder can be written."""
    for path in directory.resolve().glob(f"{stem}-*.so"):
        with suppress(OSError):
            if path == kept_path(stem, directory, path.read_bytes()):
                return path
            logger.warning("%s is damaged and is not used", path)
            path.unlink(missing_ok=True)
    return None


def keep(built: Path, stem: str, directory: Path) -> Path:
    """Move a library into the folder, which is on the same disk; return its file. Raises OSError."""
    with built.open("rb") as file:
        kept = kept_path(stem, directory, file.read())
        os.fsync(file.fileno())
    built.replace(kept)
    _remove_old(kept.parent)
    return kept


def _remove_old(directory: Path) -> None:
    """Remove old libraries; a recent one stays, as the worker that compiled it may still load it."""
    for path in directory.glob("kernels-*.so"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _KEPT_S:
                path.unlink()
