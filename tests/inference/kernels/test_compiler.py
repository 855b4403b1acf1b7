"""Compiling and loading: what is kept, what is damaged, what cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference.kernels.compiler import NoKernels, compile_kernels
from inference.kernels.library import find_kernels

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return compile_kernels(tmp_path_factory.mktemp("kernels"))
    except NoKernels as reason:
        pytest.skip(f"no kernels here: {reason}")


def test_a_library_is_compiled_once(compiled: Path) -> None:
    before = compiled.stat()
    assert compile_kernels(compiled.parent) == compiled
    assert compiled.stat().st_mtime_ns == before.st_mtime_ns


def test_a_damaged_library_costs_only_this_start_its_speed(
    compiled: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = tmp_path / compiled.name
    damaged.write_bytes(bytes(compiled.stat().st_size))  # as a disk that lost its data leaves it
    assert find_kernels(tmp_path, 1) is None
    assert "cannot be loaded" in caplog.text
    assert not damaged.exists()


def test_without_a_compiler_models_are_computed_by_pytorch(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert find_kernels(tmp_path, 1) is None
    assert "no C compiler" in caplog.text


def test_a_folder_that_cannot_be_written_is_no_failure(compiled: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    assert find_kernels(tmp_path / "file" / "kernels", 1) is None
