"""Compiles one form of the kernels, once, and keeps it when its results are right. Knows nothing of their use."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from inference.kernels.cpu import cpu_features
from inference.kernels.forms import PLAIN, Form, NoKernels

SOURCES = sorted(Path(__file__).parent.glob("*.[ch]"))
_SOURCE = Path(__file__).with_name("kernels.c")
FLAGS = ("-std=gnu11", "-ffp-contract=off", "-pthread")
"""Without contraction every compiler computes the same."""
_LIMIT_S = 120
_KEPT_S = 30 * 86_400
"""Age in seconds at which a library of another version or machine is removed: it is not needed again soon."""


def find_compiler() -> tuple[str, ...]:
    """Return the command of a C compiler: CC, else cc, else that of the ziglang wheel. Raises NoKernels."""
    wanted = os.environ.get("CC")
    if found := shutil.which(wanted or "cc"):
        return (found,)
    if wanted is None and importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", "cc")
    raise NoKernels("no C compiler was found; `make up COMPILER=1` fetches one")


def compile_form(form: Form, directory: Path) -> Path:
    """Return the form's shared library, compiled into the directory unless it is there already. Raises NoKernels.

    A new library is compared with the plain form's in a process of its own: a CPU may claim instructions that it does
    not have, and a compiler may be wrong.
    """
    compiler = find_compiler()
    library = directory / f"kernels-{form.name}-{_key(form, compiler)}.so"
    if library.is_file():
        return library
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory) as scratch:
            built = Path(scratch) / library.name
            with _running([*compile_command(form, compiler, _SOURCE, built), "-shared", "-fPIC"]) as compiling:
                reference = built if form is PLAIN else compile_form(PLAIN, directory)
                _finish(compiling, f"{compiler[0]} could not compile them")
            if form is not PLAIN:
                _compare(built, reference)
            with built.open("rb") as file:
                os.fsync(file.fileno())  # a name must never stand for half a file
            built.replace(library)
            _remove_others(library)
    except OSError as error:
        raise NoKernels(f"they could not be compiled: {error}") from error
    return library


def compile_command(form: Form, compiler: Sequence[str], source: Path, target: Path) -> list[str]:
    """Return the command that compiles `source`, which includes kernels.c, in this form."""
    flags = [*form.flags, f"-DFORM_{form.vectors}=1", f"-I{SOURCES[0].parent}"]
    if "ziglang" in compiler:  # its Clang names a CPU where others name an architecture
        flags = [flag.replace("-march=armv8.2-a", "-mcpu=generic") for flag in flags]
    return [*compiler, *FLAGS, *flags, "-o", str(target), str(source), "-lm"]


def _compare(built: Path, reference: Path) -> None:
    command = [sys.executable, "-m", "inference.kernels.check", str(built), str(reference)]
    with _running(command) as checking:
        _finish(checking, "their results are wrong on this CPU")


@contextmanager
def _running(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _finish(process: subprocess.Popen[str], problem: str) -> None:
    try:
        _, errors = process.communicate(timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise NoKernels(f"{problem}: it took more than {_LIMIT_S} s") from None
    if process.returncode:
        raise NoKernels(f"{problem}: {errors.strip()[-500:] or f'exit status {process.returncode}'}")


def _key(form: Form, compiler: Sequence[str]) -> str:
    """Hash everything that the library depends on: a data folder may move to another machine."""
    stat = Path(compiler[0]).resolve().stat()
    parts = [*FLAGS, *form.flags, *sorted(cpu_features()), *compiler, f"{stat.st_size} {stat.st_mtime_ns}"]
    parts += [source.read_text("utf-8") for source in SOURCES]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _remove_others(library: Path) -> None:
    """Remove old libraries of other versions; a recent one stays, as the worker that compiled it may still load it."""
    for other in library.parent.glob("kernels-*.so"):
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > _KEPT_S:
                other.unlink()
