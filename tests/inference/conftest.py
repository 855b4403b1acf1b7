"""What several of these tests share."""

from __future__ import annotations

import pytest

from inference.kernels.compiler import NoKernels
from inference.kernels.library import Kernels


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """On two threads, so that what they share is tested."""
    try:
        return Kernels(tmp_path_factory.mktemp("kernels"), 2)
    except NoKernels as reason:
        pytest.skip(f"no kernels here: {reason}")
