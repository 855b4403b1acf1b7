"""Compiling, choosing and loading: what is kept, what is damaged, what is wrong, what cannot be had."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from inference.kernels.choice import find_kernels
from inference.kernels.compiler import compile_form, find_compiler, library_stem
from inference.kernels.cpu import cpu_features
from inference.kernels.forms import AUTO, PLAIN, TORCH, NoKernels, candidates, usable
from inference.kernels.library_cache import kept_path
from tests.environment import KERNELS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def optimised() -> Path:
    try:
        compile_form(PLAIN, KERNELS)
        return compile_form(candidates(AUTO, cpu_features())[0], KERNELS)
    except NoKernels as reason:
        pytest.skip(f"no kernels here: {reason}")


@pytest.fixture
def compiled(optimised: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The best form. What a test then compiles is not optimised, which takes a sixth of the time."""
    script = tmp_path_factory.mktemp("compiler") / "hasty-cc"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(find_compiler())} "$@" -O0\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    return optimised


def compiler_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, square_root: str) -> None:
    """Make the compiler a script that takes this for the square root of x in every form but the plain one."""
    (real,) = find_compiler()
    header, script = tmp_path / "wrong.h", tmp_path / "wrong-cc"
    header.write_text(f"#include <math.h>\n#define sqrtf(x) ({square_root})\n", "ascii")
    options = f"-include {header}"
    script.write_text(f'#!/bin/sh\ncase "$*" in *FORM_plain*) exec {real} "$@";; esac\nexec {real} {options} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))


def test_a_library_is_compiled_once(compiled: Path) -> None:
    before = compiled.stat()
    assert compile_form(candidates(AUTO, cpu_features())[0], KERNELS) == compiled
    assert compiled.stat().st_mtime_ns == before.st_mtime_ns


def test_a_compiler_may_have_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = find_compiler()
    monkeypatch.setenv("CC", f"{path} -m64")
    assert find_compiler() == [path, "-m64"]


def test_a_kept_library_needs_neither_a_compiler_nor_a_folder_that_can_be_written(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: pytest.fail("the folder was tried"))
    kernels = find_kernels(compiled.parent, 1)
    assert kernels is not None
    kernels.close()


def test_a_relative_folder_is_one_below_the_present_one(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert compile_form(PLAIN, Path("kernels")).is_relative_to(tmp_path)


_LOAD = """
import pathlib, sys
from inference.kernels.choice import find_kernels
find_kernels(pathlib.Path(sys.argv[1]), 1, sys.argv[2]).close()
"""
_READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
DAMAGES = {
    "cut in half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "all zeros": lambda data: bytes(len(data)),
    "one byte changed": lambda data: data[:9000] + bytes([data[9000] ^ 1]) + data[9001:],
}


@pytest.fixture
def kept_plain(compiled: Path, tmp_path: Path) -> Path:
    """A folder that keeps the plain form, which is compiled in the shortest time."""
    shutil.copy(compile_form(PLAIN, KERNELS), tmp_path)
    return tmp_path


def load_apart(folder: Path, *wrapping: str) -> subprocess.CompletedProcess[str]:
    """Load the plain form in a process of its own, which may die. wrapping: a command that runs another one."""
    command = [*wrapping, sys.executable, "-c", _LOAD, str(folder), PLAIN.name]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_library_is_removed_and_compiled_again(damage: str, kept_plain: Path) -> None:
    (path,) = kept_plain.iterdir()
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    first = load_apart(kept_plain)
    assert (first.returncode, "is damaged" in first.stderr) == (0, True), first
    (whole,) = kept_plain.iterdir()
    before = whole.stat().st_mtime_ns
    assert load_apart(kept_plain).stderr == ""
    assert whole.stat().st_mtime_ns == before


def test_the_best_form_is_compiled_again_too_whatever_became_of_the_plain_one(kept_plain: Path, compiled: Path) -> None:
    for path in [*kept_plain.iterdir(), Path(shutil.copy(compiled, kept_plain))]:
        os.truncate(path, 0)
    kernels = find_kernels(kept_plain, 1)
    assert kernels is not None
    kernels.close()


def test_a_library_for_another_processor_under_the_right_name_is_compiled_again(kept_plain: Path) -> None:
    """As where a data folder moves to another kind of machine."""
    (path,) = kept_plain.iterdir()
    data = path.read_bytes()
    if data[:4] != b"\x7fELF":
        pytest.skip("libraries are no ELF files here")
    machine = {62: 183, 183: 62}[int.from_bytes(data[18:20], "little")]  # x86-64 for AArch64, and the reverse
    foreign = data[:18] + machine.to_bytes(2, "little") + data[20:]
    path.unlink()
    kept_path(library_stem(PLAIN), kept_plain, foreign).write_bytes(foreign)
    assert load_apart(kept_plain).returncode == 0
    (path,) = kept_plain.iterdir()
    assert path.read_bytes() != foreign


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_folder_that_may_only_be_read_serves_what_is_whole(is_damaged: bool, kept_plain: Path) -> None:
    (path,) = kept_plain.iterdir()
    if is_damaged:
        os.truncate(path, path.stat().st_size // 2)
    read_only = ["unshare", "--map-root-user", "--mount", "sh", "-c", _READ_ONLY, str(kept_plain)]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*read_only, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no process may mount a file system here")
    run = load_apart(kept_plain, *read_only)
    assert run.returncode == 0, run.stderr
    assert ("compiled again at every start" in run.stderr) == is_damaged
    assert list(kept_plain.iterdir()) == [path]


def test_without_a_compiler_models_are_computed_by_pytorch(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert find_kernels(tmp_path, 1) is None
    assert "no C compiler was found: CC names no-such-compiler" in caplog.text


def test_a_forced_form_that_cannot_be_had_is_an_error(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(NoKernels, match="no C compiler"):
        find_kernels(tmp_path, 1, usable(cpu_features())[0].name)


def test_pytorch_may_be_forced(tmp_path: Path) -> None:
    assert find_kernels(tmp_path, 1, TORCH) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("square_root", "reason"),
    [
        ("2 * (x)", "differ from the plain form"),
        ("__builtin_trap(), (x)", "ended by SIG"),  # as an instruction that the CPU lacks ends it
        ("no_such_name", "could not compile"),
    ],
    ids=["wrong code", "a CPU that claims too much", "a compiler that fails"],
)
def test_code_that_is_wrong_here_is_never_used(
    square_root: str,
    reason: str,
    compiled: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    compiler_with(tmp_path, monkeypatch, square_root)
    assert find_kernels(tmp_path / "kernels", 1) is None
    assert reason in caplog.text
    assert list((tmp_path / "kernels").iterdir()) == []


def test_a_library_of_another_kind_of_machine_is_not_used(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = candidates(AUTO, cpu_features())[0]
    here = compile_form(form, tmp_path)
    monkeypatch.setattr("inference.kernels.compiler.cpu_features", lambda: frozenset(form.needs))
    assert compile_form(form, tmp_path) != here


def test_a_folder_that_cannot_be_written_costs_only_time(
    compiled: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    kernels = find_kernels(tmp_path / "file" / "kernels", 1)
    assert kernels is not None
    assert "compiled again at every start" in caplog.text
    kernels.close()
