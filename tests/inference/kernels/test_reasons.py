"""Each reason for which kernels cannot be had says what is wrong and what to do, in a line that stands alone."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from inference.kernels.choice import find_kernels
from inference.kernels.compiler import find_compiler
from inference.kernels.cpu import features_in
from inference.kernels.forms import PLAIN, TORCH, NoKernels, candidates

OLD = "flags : sse2\n"
FETCH = "`make up COMPILER=1`"


def reason_of(folder: Path) -> str:
    """Why the plain form, which every CPU has, cannot be had."""
    with pytest.raises(NoKernels) as raised:
        find_kernels(folder, 1, PLAIN.name)
    return str(raised.value)


@pytest.mark.parametrize("named", ["/nonexistent", "  /nonexistent -m64"])
def test_a_compiler_that_is_not_there_is_named_with_the_way_out(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", named)
    assert "CC names /nonexistent" in reason_of(tmp_path)
    assert FETCH in reason_of(tmp_path)


def test_a_compiler_with_half_a_quotation_is_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", 'cc "-m64')
    assert "CC is no command" in reason_of(tmp_path)


def test_blanks_name_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cc = tmp_path / "cc"
    cc.write_text("#!/bin/sh\n")
    cc.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "  ")
    assert find_compiler() == [str(cc)]


def test_the_compiler_that_was_fetched_is_taken_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang", reason="the compiler is missing: pip install -r requirements-compiler.txt")
    monkeypatch.setenv("CC", "/nonexistent")
    monkeypatch.setenv("COMPILER", "1")
    assert find_compiler()[1:] == ["-m", "ziglang", "cc"]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 1", "it printed nothing and ended with status 1"),
        ("kill -9 $$", "it was ended by SIGKILL"),
        ("echo licence expired; exit 2", "licence expired"),  # some compilers print errors to the output
        ("echo 'a.c:1: error: no such name' >&2; echo 2 errors >&2; exit 1", "a.c:1: error: no such name"),
        ("echo; echo last words; echo; exit 1", "last words"),
    ],
)
def test_what_a_compiler_that_fails_says_is_passed_on_with_advice(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "my cc"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", shlex.quote(str(compiler)))
    reason = reason_of(tmp_path / "kernels")
    assert f"{compiler} could not compile them: {said}" in reason
    assert FETCH in reason
    assert "\n" not in reason


def test_a_forced_form_that_the_cpu_lacks_is_named_in_words_with_the_features_and_the_way_out() -> None:
    with pytest.raises(NoKernels) as raised:
        candidates("neon", features_in("Linux", OLD))
    assert str(raised.value) == (
        "SIGHTGLASS_KERNELS is neon, but this CPU has no NEON with dot products (missing CPU feature: asimddp). "
        "Set SIGHTGLASS_KERNELS to auto"
    )
    with pytest.raises(NoKernels, match=r"has no AVX2 \(missing CPU features: avx2, fma, f16c\)"):
        candidates("avx2", features_in("Linux", OLD))


def test_the_reason_is_told_where_pytorch_computes_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent")
    told: list[str] = []
    assert find_kernels(tmp_path, 1, on_torch=told.append) is None
    assert len(told) == 1
    assert find_kernels(tmp_path, 1, TORCH, on_torch=told.append) is None
    assert len(told) == 1
