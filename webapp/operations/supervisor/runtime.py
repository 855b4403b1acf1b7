"""The product's folder for what lives only while it runs: the Redis server's socket. Cleared after a crash.

A running product holds a lock inside its folder. The lock ends with its process, so a folder whose lock is free is left
over from a product that was killed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "sightglass-"
_LOCK = "running"


class RuntimeFolder:
    """A new folder, locked for as long as this object lives."""

    def __init__(self, place: str) -> None:
        _clear(Path(place))
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        unnamed = self.path / f"{_LOCK}.new"
        self._held = unnamed.open("wb")
        fcntl.flock(self._held, fcntl.LOCK_EX)
        unnamed.rename(self.path / _LOCK)  # locked before another product can find it


def _clear(place: Path) -> None:
    """Remove the folders of this account's killed products."""
    for found in place.glob(f"{PREFIX}*/{_LOCK}"):
        with suppress(OSError):  # its lock is held, or another start has removed it
            if not found.parent.is_symlink() and found.parent.stat().st_uid == os.geteuid():
                with found.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(found.parent, ignore_errors=True)
