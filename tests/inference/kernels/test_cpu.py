"""A CPU's features, as each system reports them."""

from __future__ import annotations

import pytest

from inference.kernels.cpu import cpu_features, features_in
from inference.kernels.forms import AUTO, CHOICES, FORMS, PLAIN, TORCH, NoKernels, candidates, usable

LAPTOP = """processor\t: 0
vendor_id\t: GenuineIntel
flags\t\t: fpu sse2 avx avx2 fma f16c avx_vnni
vmx flags\t: vnmi
"""
SERVER = "flags\t\t: avx2 fma f16c avx512f avx512bw avx512dq avx512vl avx512_vnni avx512_bf16\n"
GRAVITON = "processor\t: 0\nFeatures\t: fp asimd asimdhp asimddp sve i8mm bf16\n"
RASPBERRY = "Features\t: fp asimd evtstrm crc32 cpuid\n"
APPLE_M1 = "hw.optional.arm.FEAT_DotProd: 1\nhw.optional.arm.FEAT_I8MM: 0\nhw.optional.neon: 1\n"
APPLE_M2 = "hw.optional.arm.FEAT_DotProd: 1\nhw.optional.arm.FEAT_I8MM: 1\n"
APPLE_INTEL = "machdep.cpu.features: FPU SSE4.2 FMA F16C AVX1.0\nmachdep.cpu.leaf7_features: BMI1 AVX2 BMI2\n"


@pytest.mark.parametrize(
    ("system", "report", "labels"),
    [
        ("Linux", SERVER, ["AVX-512 VNNI and BF16", "AVX2"]),
        ("Linux", LAPTOP, ["AVX-VNNI", "AVX2"]),
        ("Linux", "flags : sse2\n", []),
        ("Linux", "", []),
        ("Linux", GRAVITON, ["NEON with I8MM", "NEON with dot products"]),
        ("Linux", RASPBERRY, []),
        ("Darwin", APPLE_M1, ["NEON with dot products"]),
        ("Darwin", APPLE_M2, ["NEON with I8MM", "NEON with dot products"]),
        ("Darwin", APPLE_INTEL, ["AVX2"]),
    ],
)
def test_the_forms_of_a_cpu_come_best_first(system: str, report: str, labels: list[str]) -> None:
    assert [form.label for form in usable(features_in(system, report))] == [*labels, PLAIN.label]


def test_this_cpu_tells_its_features() -> None:
    assert {"sse2", "asimd", "asimddp"} & cpu_features()


def test_auto_never_takes_plain_c() -> None:
    assert PLAIN not in candidates(AUTO, features_in("Linux", SERVER))
    with pytest.raises(NoKernels, match="neither AVX2"):
        candidates(AUTO, frozenset())


def test_a_form_may_be_forced() -> None:
    features = features_in("Linux", SERVER)
    assert [form.name for form in candidates("avx2", features)] == ["avx2"]
    assert candidates("plain", features) == [PLAIN]


def test_every_form_can_be_asked_for() -> None:
    assert set(CHOICES) == {AUTO, TORCH, *(form.name for form in FORMS)}
