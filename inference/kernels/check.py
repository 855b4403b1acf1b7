"""`python -m inference.kernels.check LIBRARY REFERENCE`: compares two forms' results; status DIFFER where they differ.

Runs in a process of its own, which may die of an instruction that the CPU lacks. See self_test.h.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DIFFER = 3
BOUND = 0.02
"""Largest difference, as a share of the results' root mean square. A sum in another order rounds some activations to
the neighbouring code."""


def results(library: Path, is_gelu: bool, with_prompt_form: bool) -> NDArray[np.float32]:
    """Return what self_test.h computes in this form. Raises MemoryError, and OSError for a file that is no library."""
    loaded = ctypes.CDLL(str(library))
    out = np.zeros(loaded.self_test_size(), np.float32)
    if loaded.self_test(int(is_gelu), int(with_prompt_form), ctypes.c_void_p(out.ctypes.data)):
        raise MemoryError("no memory for the self-test")
    return out


def difference(got: NDArray[np.float32], expected: NDArray[np.float32]) -> float:
    """Return how far two results are apart, as a share of the second's root mean square; NaN where one holds NaN."""
    return float(np.sqrt(np.square(got - expected, dtype=np.float64).mean() / np.square(expected).mean()))


def main(library: str, reference: str) -> None:
    for is_gelu in (False, True):
        for with_prompt_form in (False, True):
            got, expected = (results(Path(path), is_gelu, with_prompt_form) for path in (library, reference))
            if not difference(got, expected) < BOUND:  # a NaN is not below it
                sys.stderr.write(f"they differ from the plain form's by {difference(got, expected):.1e}\n")
                raise SystemExit(DIFFER)


if __name__ == "__main__":
    main(*sys.argv[1:])
