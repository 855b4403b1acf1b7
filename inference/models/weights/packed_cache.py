"""Weights converted once and kept in files, mapped into memory afterwards. Knows nothing of the conversion.

One file per form of a model: magic, SHA-256 of the index, its length, the index (JSON: name, dtype, shape, place), then
the arrays at multiples of 64 bytes. A file is written beside its place and renamed when it is whole and on the disk. So
a reader sees all of it or none. A file that is damaged nevertheless (wrong magic, index or length) is built again. The
arrays' own bytes have no checksum. The model file that they come from has none either. Reading all would slow the
start.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from inference.models.sources.source import ModelSource

logger = logging.getLogger(__name__)

Arrays = Mapping[str, NDArray[Any]]

_MAGIC = b"SGPACK01"
_HEAD = struct.Struct("<8s32sQ")
_ALIGNMENT = 64
HUGE_PAGE = 2 << 20
"""Files are written in whole huge pages, so that the system's cache may keep them so."""
_MAX_INDEX_BYTES = 16 << 20
_SUFFIX = ".weights"
_MOST_FORMS = 2
"""Files that are kept of one model."""
_MAX_BUILD_S = 3600
"""A file that is still not whole after this time is a dead builder's."""
_HEADER_BYTES = 1 << 20
"""Bytes hashed at a model file's beginning: its metadata and tensor list, or most of them."""


class PackedCache:
    """A folder of packed weights, at most max_bytes, and at most two forms of each model.

    The files used longest ago go first, when a new one is written. Each load is a use. Two forms, because two workers
    may share a folder and compute in different forms. A worker that has mapped a file keeps its content, also when the
    file goes. With a third form the next start of such a worker may convert again.
    """

    def __init__(self, folder: Path, max_bytes: int = 8 << 30) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def load_or_build(self, key: str, build: Callable[[], Arrays]) -> dict[str, NDArray[Any]]:
        """Return the arrays of this key, mapped from its file, which is first built where it is missing.

        The key's first line is the form. Its other lines name the model, or whatever else is converted.
        Mapped arrays are private to the process: writes to them never reach the file. A cache that cannot be
        written only costs the next start's time, and the arrays are then as build returns them.
        """
        form, _, model = key.partition("\n")
        path = self._folder / f"{_digest(model)}-{_digest(form)}{_SUFFIX}"
        try:
            arrays = _read(path)
            with suppress(OSError):  # a folder that cannot be written still serves
                os.utime(path)
            return arrays
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("%s is damaged and built again (%s)", path, error)
        built = dict(build())
        try:
            self._write(path, built)
            with suppress(FileNotFoundError):  # another worker removes files at this moment
                self._shrink(newest=path)
            return _read(path)
        except OSError as error:
            logger.warning("converted weights are not kept: %s cannot be written (%s)", path, error.strerror)
            return built

    def _write(self, path: Path, arrays: Arrays) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".tmp", delete=False) as file:
            try:
                _write(file, arrays)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise

    def _shrink(self, newest: Path) -> None:
        """Remove the least recently used files, and the files that a dead builder or an earlier version left."""
        for leftover in self._folder.glob("*.tmp"):
            if time.time() - leftover.stat().st_mtime > _MAX_BUILD_S:
                leftover.unlink(missing_ok=True)
        others = [path for path in self._folder.glob(f"*{_SUFFIX}") if path != newest]
        num_bytes, num_forms = 0, Counter[str]()
        for path in [newest, *sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)]:
            model, dash, _ = path.name.partition("-")  # an earlier version's names have no dash
            num_bytes += path.stat().st_size
            num_forms[model] += 1
            is_wanted = dash and num_bytes <= self._max_bytes and num_forms[model] <= _MOST_FORMS
            if path != newest and not is_wanted:
                path.unlink(missing_ok=True)


def is_mapped(array: NDArray[Any]) -> bool:
    """Return whether this is one of load_or_build's arrays, mapped from its file."""
    return isinstance(array.base, mmap.mmap)


def ask_for_huge_pages(memory: mmap.mmap) -> None:
    """Let the system back this memory with huge pages, where it can: a third more bandwidth. Linux does so for a file
    that its file system keeps in huge pages (ext4 from Linux 6.16 on, XFS)."""
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system may have been built without
            memory.madvise(mmap.MADV_HUGEPAGE)


def let_go(array: NDArray[Any]) -> None:
    """Give back the memory of one of load_or_build's arrays, to which nothing was written. A mapped array is read from
    its file again if it is needed again. Other arrays go by themselves."""
    data = array.base
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        at = array.ctypes.data - np.frombuffer(data, np.uint8).ctypes.data
        start = at // mmap.PAGESIZE * mmap.PAGESIZE
        data.madvise(mmap.MADV_DONTNEED, start, at + array.nbytes - start)


def source_key(source: ModelSource, form: str) -> str:
    """Return a key: the form of packing, then the model's files by their names, sizes, times and beginnings."""
    parts = [form]
    for path in source.files:
        status = path.stat()
        with path.open("rb") as file:
            digest = hashlib.sha256(file.read(_HEADER_BYTES)).hexdigest()
        parts += [path.name, str(status.st_size), str(status.st_mtime_ns), digest]
    return "\n".join(parts)


def _write(file: BinaryIO | Any, arrays: Arrays) -> None:
    entries: dict[str, Any] = {}
    start = 0
    for name, array in arrays.items():
        entries[name] = {"dtype": array.dtype.str, "shape": array.shape, "start": start}
        start = _aligned(start + array.nbytes)
    index = json.dumps({"arrays": entries, "size": start}).encode()
    pending = bytearray(_HEAD.pack(_MAGIC, hashlib.sha256(index).digest(), len(index)) + index)
    for array in arrays.values():
        pending += bytes(-len(pending) % _ALIGNMENT) + np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        num_whole = len(pending) // HUGE_PAGE * HUGE_PAGE
        file.write(memoryview(pending)[:num_whole])
        del pending[:num_whole]
    file.write(pending + bytes(-len(pending) % _ALIGNMENT))


def _read(path: Path) -> dict[str, NDArray[Any]]:
    """Raises FileNotFoundError, and OSError, ValueError, KeyError or TypeError for a damaged file."""
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise ValueError("it is too short")
        magic, digest, length = _HEAD.unpack(head)
        if magic != _MAGIC or length > _MAX_INDEX_BYTES:
            raise ValueError("wrong magic")
        text = file.read(length)
        if hashlib.sha256(text).digest() != digest:
            raise ValueError("its index does not match its checksum")
        index, base = json.loads(text), _aligned(_HEAD.size + length)
        if path.stat().st_size != base + index["size"]:
            raise ValueError("it is not whole")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        ask_for_huge_pages(data)
    return {
        name: np.ndarray(entry["shape"], entry["dtype"], data, base + entry["start"])
        for name, entry in index["arrays"].items()
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
