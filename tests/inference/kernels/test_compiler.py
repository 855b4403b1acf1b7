"""Compiling, choosing and loading: what is kept, what is damaged, what is wrong, what cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference.kernels.choice import find_kernels
from inference.kernels.compiler import compile_form, find_compiler
from inference.kernels.cpu import cpu_features
from inference.kernels.forms import AUTO, PLAIN, TORCH, NoKernels, candidates, usable
from inference.kernels.library import Kernels
from tests.environment import KERNELS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def compiled() -> Path:
    try:
        return compile_form(candidates(AUTO, cpu_features())[0], KERNELS)
    except NoKernels as reason:
        pytest.skip(f"no kernels here: {reason}")


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


def test_a_damaged_library_is_no_reason_to_stop(
    compiled: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = tmp_path / compiled.name
    damaged.write_bytes(bytes(compiled.stat().st_size))  # as a disk that lost its data leaves it
    with pytest.raises(NoKernels, match="cannot be loaded"):
        Kernels(damaged, "", 1)
    assert not damaged.exists()


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
        ("__builtin_trap(), (x)", "exit status -"),  # as an instruction that the CPU lacks ends it
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
    assert [path.name.split("-")[1] for path in (tmp_path / "kernels").iterdir()] in ([], ["plain"])


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
