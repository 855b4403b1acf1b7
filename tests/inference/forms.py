"""The kernels in a form of this CPU."""

from __future__ import annotations

import pytest

from inference.kernels.compiler import compile_form
from inference.kernels.cpu import cpu_features
from inference.kernels.forms import Form, NoKernels, usable
from inference.kernels.library import Kernels
from tests.environment import KERNELS


def load_form(form: Form) -> Kernels:
    """Return the form on two threads, so that what they share is tested; skip the test where it cannot be had."""
    if form not in usable(cpu_features()):
        pytest.skip(f"this CPU has no {form.label}")
    try:
        return Kernels(compile_form(form, KERNELS), form.label, 2)
    except NoKernels as reason:
        pytest.skip(f"no kernels here: {reason}")
