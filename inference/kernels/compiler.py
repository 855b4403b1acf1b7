"""Compiles the kernels for this machine, once. Knows nothing of their results."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

SOURCES = sorted(Path(__file__).parent.glob("*.[ch]"))
_FLAGS = ("-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC", "-pthread")
_NEEDED = ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "f16c", "fma")
_LIMIT_S = 120
_KEPT_S = 30 * 86_400
"""Age in seconds at which a library of another version or machine is removed: it is not needed again soon."""


class NoKernels(Exception):
    """The kernels cannot be had on this machine; the message says why."""


def compile_kernels(directory: Path) -> Path:
    """Return the shared library, compiled into the directory unless it is there already. Raises NoKernels."""
    features = _cpu_features()
    if missing := [name for name in _NEEDED if name not in features]:
        raise NoKernels(f"this CPU has no {missing[0]}")
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler is None:
        raise NoKernels("no C compiler was found")
    library = directory / f"kernels-{_key(compiler, features)}.so"
    if not library.is_file():
        _compile(compiler, library)
    return library


def _cpu_features() -> frozenset[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        raise NoKernels("this system does not tell what its CPU can do") from None
    return frozenset(next((line for line in lines if line.startswith("flags")), "").partition(":")[2].split())


def _key(compiler: str, features: frozenset[str]) -> str:
    """Hash everything that the library depends on: a data directory may move to another machine."""
    stat = Path(compiler).resolve().stat()
    parts = [*_FLAGS, *sorted(features), compiler, f"{stat.st_size} {stat.st_mtime_ns}"]
    parts += [source.read_text("utf-8") for source in SOURCES]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _remove_others(library: Path) -> None:
    """Remove old libraries of other versions; a recent one stays, as the worker that compiled it may still load it."""
    for other in library.parent.glob("kernels-*.so"):
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > _KEPT_S:
                other.unlink()


def _compile(compiler: str, library: Path) -> None:
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            built = Path(scratch) / library.name
            source = Path(__file__).parent / "kernels.c"
            command = [compiler, *_FLAGS, "-o", str(built), str(source), "-lm"]
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_LIMIT_S)
            if done.returncode:
                raise NoKernels(f"{compiler} could not compile them: {done.stderr.strip()[-500:]}")
            with built.open("rb") as file:
                os.fsync(file.fileno())  # a name must never stand for half a file
            built.replace(library)
            _remove_others(library)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoKernels(f"they could not be compiled: {error}") from error
