"""Compiles one form of the kernels, once, and checks its results before it is kept. Knows nothing of their use."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from inference.kernels.check import DIFFER
from inference.kernels.cpu import cpu_features
from inference.kernels.forms import PLAIN, Form, NoKernels
from inference.kernels.library_cache import find_kept, keep

SOURCES = sorted(Path(__file__).parent.glob("*.[ch]"))
_SOURCE = Path(__file__).with_name("kernels.c")
FLAGS = ("-std=gnu11", "-ffp-contract=off", "-fno-strict-aliasing", "-pthread")
"""Without contraction every compiler computes the same. Pairs of bfloat16 are read as integers."""
_LIMIT_S = 600
"""A busy machine compiles for minutes."""
_MOST_SAID = 300
"""Characters that are passed on of a line that says why a process failed."""
_ADVICE = "Run `make up COMPILER=1`, which fetches a compiler, or set CC to the command of one"


def find_compiler() -> list[str]:
    """Return the command of a C compiler: CC, else cc, else that of the ziglang wheel. Raises NoKernels.

    With COMPILER set, as `make up COMPILER=1` does, the wheel's compiler comes first.
    """
    has_wheel = importlib.util.find_spec("ziglang") is not None
    fetched = [sys.executable, "-m", "ziglang", "cc"]
    if has_wheel and os.environ.get("COMPILER"):
        return fetched
    named = _named()
    command = named or ["cc"]
    if found := shutil.which(command[0]):
        return [found, *command[1:]]
    if named:
        raise NoKernels(f"no C compiler was found: CC names {command[0]}, which is not there. {_ADVICE}")
    if has_wheel:
        return fetched
    raise NoKernels(f"no C compiler was found. {_ADVICE}")


def _named() -> list[str]:
    """Return the command in CC; empty where it names none. Raises NoKernels."""
    try:
        return shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        raise NoKernels(f"CC is no command ({error}). {_ADVICE}") from None


def library_stem(form: Form) -> str:
    """Return what the name of the form's library begins with: it tells this version, this system and this CPU."""
    system = (platform.system(), platform.machine(), *sorted(cpu_features()))
    parts = [*FLAGS, *form.flags, *system, *(source.read_text("utf-8") for source in SOURCES)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return f"kernels-{form.name}-{key}"


def compile_form(form: Form, directory: Path) -> Path:
    """Return the form's shared library, compiled into the directory unless a whole one is there. Raises NoKernels."""
    stem = library_stem(form)
    if kept := find_kept(stem, directory):
        return kept
    compiler = find_compiler()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory) as scratch:
            return keep(_build(form, compiler, Path(scratch)), stem, directory)
    except OSError as error:
        raise NoKernels(f"they could not be compiled: {error}") from error


def _build(form: Form, compiler: Sequence[str], scratch: Path) -> Path:
    """Compile the form into the folder, and compare its results with those of the plain form, compiled beside it.

    A CPU may claim instructions that it does not have, and a compiler may be wrong.
    """
    built = {each: scratch / f"{each.name}.so" for each in (form, PLAIN)}
    with ExitStack() as stack:
        commands = [compile_command(each, compiler, _SOURCE, library) for each, library in built.items()]
        for process in [stack.enter_context(_running([*command, "-shared", "-fPIC"])) for command in commands]:
            if said := _failure(process, "compiling them"):
                raise NoKernels(f"{compiler[0]} could not compile them: {said}. {_ADVICE}")
    if form is not PLAIN:
        _compare(built[form], built[PLAIN])
    return built[form]


def compile_command(form: Form, compiler: Sequence[str], source: Path, target: Path) -> list[str]:
    """Return the command that compiles `source`, which includes kernels.c, in this form."""
    flags = [*form.flags, f"-DFORM_{form.vectors}=1", f"-I{SOURCES[0].parent}"]
    if "ziglang" in compiler:  # its Clang names a CPU where others name an architecture
        flags = [flag.replace("-march=armv8.2-a", "-mcpu=generic") for flag in flags]
    return [*compiler, *FLAGS, *flags, "-o", str(target), str(source), "-lm"]


def _compare(built: Path, reference: Path) -> None:
    """Raise NoKernels where the results differ, or where computing them ends the process."""
    with _running([sys.executable, "-m", "inference.kernels.check", str(built), str(reference)]) as checking:
        said = _failure(checking, "their check")
    if checking.returncode == DIFFER or checking.returncode < 0:  # negative: ended by a signal
        raise NoKernels(f"their results are wrong on this CPU: {said}. Set CC to the command of another C compiler")
    if said:
        raise NoKernels(f"they could not be checked: {said}")


@contextmanager
def _running(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _failure(process: subprocess.Popen[str], what: str) -> str | None:
    """Wait for the end. Return the line that says why the process failed; None: it did not. Raises NoKernels."""
    try:
        output = process.communicate(timeout=_LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        raise NoKernels(f"{what} took more than {_LIMIT_S} s") from None
    if process.returncode == 0:
        return None
    if process.returncode < 0:
        return f"it was ended by {signal.Signals(-process.returncode).name}"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = next((line for line in lines if "error:" in line), lines[-1] if lines else "")
    return said.rstrip(".")[:_MOST_SAID] or f"it printed nothing and ended with status {process.returncode}"
