"""Every form against the plain one: those of this CPU as libraries, the others compiled, and run where QEMU is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from inference.kernels.check import BOUND, difference, results
from inference.kernels.compiler import compile_command, compile_form, find_compiler
from inference.kernels.cpu import cpu_features
from inference.kernels.forms import FORMS, PLAIN, Form, NoKernels, usable
from tests.environment import KERNELS
from tests.inference.kernels.compilers import run_compiler, zig
from tests.inference.models.combinations import is_whole

pytestmark = pytest.mark.slow

EXTREMES = Path(__file__).with_name("extremes.c")
MAIN = Path(__file__).with_name("self_test_main.c")
CASES = [(is_gelu, with_prompt_form) for is_gelu in (False, True) for with_prompt_form in (False, True)]
NEON = [form for form in FORMS if form.name == "neon"]


@pytest.fixture(scope="module")
def plain() -> Path:
    try:
        return compile_form(PLAIN, KERNELS)
    except NoKernels as reason:
        pytest.skip(f"no kernels here: {reason}")


def build(form: Form, compiler: list[str], program: Path, source: Path = MAIN, *options: str) -> Path:
    return run_compiler([*compile_command(form, compiler, source, program), *options], program)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.label)
@pytest.mark.parametrize(("is_gelu", "with_prompt_form"), CASES)
def test_a_form_agrees_with_the_plain_one(form: Form, is_gelu: bool, with_prompt_form: bool, plain: Path) -> None:
    if form not in usable(cpu_features()):
        pytest.skip(f"this CPU has no {form.label}")
    got = results(compile_form(form, KERNELS), is_gelu, with_prompt_form)
    expected = results(plain, is_gelu, with_prompt_form)
    assert np.isfinite(expected).all()
    assert difference(got, expected) < BOUND


@pytest.mark.parametrize("form", NEON, ids=lambda form: form.label)
def test_neon_agrees_with_the_plain_form_on_an_emulated_cpu(form: Form, plain: Path, tmp_path: Path) -> None:
    emulator = shutil.which("qemu-aarch64")
    if emulator is None:
        pytest.skip("an emulator of 64-bit ARM is missing: apt install qemu-user")
    program = build(form, zig("aarch64-linux-musl"), tmp_path / "self_test")  # static: it needs no ARM libraries
    output = subprocess.run([emulator, program], capture_output=True, check=True).stdout
    for got, case in zip(np.frombuffer(output, np.float32).reshape(len(CASES), -1), CASES, strict=True):
        assert difference(got, results(plain, *case)) < BOUND


@pytest.mark.parametrize("form", NEON, ids=lambda form: form.label)
def test_a_form_is_compiled_and_linked_for_macos(form: Form, tmp_path: Path) -> None:
    """Sightglass runs on Macs with Apple silicon alone. Optimising takes most of the time, and needs no system."""
    options = () if is_whole() else ("-O0", "-fno-sanitize=undefined")
    assert build(form, zig("aarch64-macos"), tmp_path / "self_test", MAIN, *options).stat().st_size > 0


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.label)
def test_products_of_extreme_codes_are_exact(form: Form, plain: Path, tmp_path: Path) -> None:
    """No sum overflows: AVX2 holds two products of bytes in 16 bits."""
    if form not in usable(cpu_features()):
        pytest.skip(f"this CPU has no {form.label}")
    program = build(form, find_compiler(), tmp_path / "extremes", EXTREMES)
    assert subprocess.run([program], capture_output=True, text=True, check=False).stdout == "0 wrong\n"


def test_avx_vnni_agrees_with_the_plain_form_by_the_same_instruction_of_avx512(plain: Path, tmp_path: Path) -> None:
    if not {"avx512_vnni", "avx512vl"} <= cpu_features():
        pytest.skip("this CPU has no AVX-512 with VNNI")
    form = next(form for form in FORMS if form.name == "avx2")
    command = [*find_compiler(), "-D__AVXVNNI__", '-DVPDPBUSD="vpdpbusd"']
    output = subprocess.run([build(form, command, tmp_path / "self_test")], capture_output=True, check=True).stdout
    for got, case in zip(np.frombuffer(output, np.float32).reshape(len(CASES), -1), CASES, strict=True):
        assert difference(got, results(plain, *case)) < BOUND
