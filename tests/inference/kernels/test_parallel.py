"""The team of threads: no thread runs ahead, none sleeps for ever, and it needs nothing that only one system has."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.inference.kernels.compilers import run_compiler, zig

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).with_name("parallel_stress.c")
KERNELS = Path(__file__).parents[3] / "inference" / "kernels"
FLAGS = ["-O2", "-g", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{KERNELS}"]


def build(compiler: list[str], program: Path, *options: str) -> Path:
    return run_compiler([*compiler, *FLAGS, *options, str(SOURCE), "-o", str(program)], program)


@pytest.fixture(scope="module")
def compiler() -> list[str]:
    found = shutil.which(os.environ.get("CC") or "cc")
    if found is None:
        pytest.skip("no C compiler was found")
    return [found]


@pytest.fixture(scope="module")
def stress(compiler: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(compiler, tmp_path_factory.mktemp("stress") / "stress")


@pytest.mark.parametrize("num_threads", [1, 2, 8])
@pytest.mark.parametrize("idle_spins", [0, 10_000])
def test_no_thread_runs_ahead_and_none_sleeps_for_ever(stress: Path, num_threads: int, idle_spins: int) -> None:
    """With more threads than cores, too."""
    assert subprocess.run([stress, str(num_threads), "100", str(idle_spins)], check=False, timeout=240).returncode == 0


@pytest.fixture(scope="module")
def sanitized(compiler: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sanitized")
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }", "ascii")
    command = [*compiler, "-fsanitize=thread", str(probe), "-o", str(folder / "probe")]
    if (
        subprocess.run(command, capture_output=True, check=False).returncode
        or subprocess.run([folder / "probe"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this compiler or this system has no thread sanitizer")
    return build(compiler, folder / "stress", "-fsanitize=thread")


@pytest.mark.parametrize("idle_spins", [0, 1000])
def test_the_thread_sanitizer_finds_no_race(sanitized: Path, idle_spins: int) -> None:
    done = subprocess.run(
        [sanitized, "4", "100", str(idle_spins)], capture_output=True, text=True, check=False, timeout=240
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_it_is_compiled_and_linked_for_linux_on_arm(tmp_path: Path) -> None:
    """test_forms.py does so for macOS, with all of the kernels."""
    program = build(zig("aarch64-linux-gnu"), tmp_path / "stress")
    assert program.stat().st_size > 0
