"""Compiles one form of the kernels, once, and keeps it when its results are right. Knows nothing of their use."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from inference.kernels.check import DIFFER
from inference.kernels.cpu import cpu_features
from inference.kernels.forms import PLAIN, Form, NoKernels

SOURCES = sorted(Path(__file__).parent.glob("*.[ch]"))
_SOURCE = Path(__file__).with_name("kernels.c")
FLAGS = ("-std=gnu11", "-ffp-contract=off", "-fno-strict-aliasing", "-pthread")
"""Without contraction every compiler computes the same. Pairs of bfloat16 are read as integers."""
_LIMIT_S = 120
_KEPT_S = 30 * 86_400
"""Age in seconds at which a library of another version or machine is removed: it is not needed again soon."""


def find_compiler() -> list[str]:
    """Return the command of a C compiler: CC, else cc, else that of the ziglang wheel. Raises NoKernels."""
    command = shlex.split(os.environ.get("CC") or "cc")
    if found := shutil.which(command[0]):
        return [found, *command[1:]]
    if os.environ.get("CC"):
        raise NoKernels(f"no C compiler was found: CC names {command[0]}")
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise NoKernels("no C compiler was found; `make up COMPILER=1` fetches one")


def library_path(form: Form, directory: Path) -> Path:
    """Return the file of the form's library, which may not be there; a data folder may move to another machine."""
    parts = [*FLAGS, *form.flags, *sorted(cpu_features()), *(source.read_text("utf-8") for source in SOURCES)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return directory.resolve() / f"kernels-{form.name}-{key}.so"


def compile_form(form: Form, directory: Path) -> Path:
    """Return the form's shared library, compiled into the directory unless it is there already. Raises NoKernels.

    A new library is compared with the plain form's in a process of its own: a CPU may claim instructions that it does
    not have, and a compiler may be wrong.
    """
    library = library_path(form, directory)
    if library.is_file():
        return library
    compiler = find_compiler()
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            built = Path(scratch) / library.name
            with _running([*compile_command(form, compiler, _SOURCE, built), "-shared", "-fPIC"]) as compiling:
                reference = built if form is PLAIN else compile_form(PLAIN, directory)
                errors = _errors(compiling, "compiling them")
            if compiling.returncode:
                raise NoKernels(f"{compiler[0]} could not compile them: {errors}")
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
    """Raise NoKernels where the results differ, or where computing them ends the process."""
    with _running([sys.executable, "-m", "inference.kernels.check", str(built), str(reference)]) as checking:
        errors = _errors(checking, "their check")
    if checking.returncode == DIFFER or checking.returncode < 0:  # negative: ended by a signal
        raise NoKernels(f"their results are wrong on this CPU: {errors or f'exit status {checking.returncode}'}")
    if checking.returncode:
        raise NoKernels(f"they could not be checked: {errors}")


@contextmanager
def _running(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _errors(process: subprocess.Popen[str], what: str) -> str:
    """Return the end of the process's errors when it has ended. Raises NoKernels."""
    try:
        return process.communicate(timeout=_LIMIT_S)[1].strip()[-500:]
    except subprocess.TimeoutExpired:
        raise NoKernels(f"{what} took more than {_LIMIT_S} s") from None


def _remove_others(library: Path) -> None:
    """Remove old libraries of other versions; a recent one stays, as the worker that compiled it may still load it."""
    for other in library.parent.glob("kernels-*.so"):
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > _KEPT_S:
                other.unlink()
