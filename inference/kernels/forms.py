"""The forms of the kernels: one per instruction set, best first. Knows nothing of compilers.

A form is the text of the kernels compiled with one file of vector primitives, see vector.h.
"""

from __future__ import annotations

from dataclasses import dataclass

AUTO, TORCH = "auto", "torch"


class NoKernels(Exception):
    """The kernels cannot be had on this machine; the message says why."""


@dataclass(frozen=True)
class Form:
    """One instruction set."""

    name: str
    """The form's value of SIGHTGLASS_KERNELS. Two forms may share a name; the CPU takes the first one that it has."""
    label: str
    """The instruction set, as users read it."""
    vectors: str
    """The file of primitives, without vector_ and .h."""
    needs: tuple[str, ...] = ()
    """Features of the CPU, by Linux's names."""
    flags: tuple[str, ...] = ()
    """Options of the compiler, in the spelling that both GCC and Clang know."""


_AVX2 = ("avx2", "fma", "f16c")
_AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16")
PLAIN = Form("plain", "plain C", "plain", flags=("-O2",))
"""The reference of the others; too slow to be chosen."""
FORMS = (
    Form(
        "avx512",
        "AVX-512 VNNI and BF16",
        "avx512",
        _AVX2 + _AVX512,
        ("-O3", *(f"-m{name.replace('_', '')}" for name in _AVX2 + _AVX512)),
    ),
    Form("avxvnni", "AVX-VNNI", "avx2", (*_AVX2, "avx_vnni"), ("-O3", "-mavx2", "-mfma", "-mf16c", "-mavxvnni")),
    Form("avx2", "AVX2", "avx2", _AVX2, ("-O3", "-mavx2", "-mfma", "-mf16c")),
    Form("neon", "NEON with I8MM", "neon", ("asimddp", "i8mm"), ("-O3", "-march=armv8.2-a+dotprod+i8mm")),
    Form("neon", "NEON with dot products", "neon", ("asimddp",), ("-O3", "-march=armv8.2-a+dotprod")),
    PLAIN,
)
CHOICES = (AUTO, *dict.fromkeys(form.name for form in FORMS), TORCH)
"""Values of SIGHTGLASS_KERNELS."""


def usable(features: frozenset[str]) -> list[Form]:
    """Return the forms that a CPU with these features computes, best first; the last is PLAIN."""
    return [form for form in FORMS if features.issuperset(form.needs)]


def candidates(wanted: str, features: frozenset[str]) -> list[Form]:
    """Return the forms to try in turn; `wanted` is one of CHOICES but TORCH. Raises NoKernels."""
    forms = usable(features)
    if wanted == AUTO:
        if found := [form for form in forms if form is not PLAIN]:
            return found
        raise NoKernels("this CPU has neither AVX2 with FMA and F16C nor NEON with dot products; the kernels need one")
    if found := [form for form in forms if form.name == wanted]:
        return found
    form = next(form for form in reversed(FORMS) if form.name == wanted)
    missing = [name for name in form.needs if name not in features]
    named = f"missing CPU feature{'s' if len(missing) > 1 else ''}: {', '.join(missing)}"
    lacks = f"this CPU has no {form.label} ({named})"
    raise NoKernels(f"SIGHTGLASS_KERNELS is {wanted}, but {lacks}. Set SIGHTGLASS_KERNELS to auto")
