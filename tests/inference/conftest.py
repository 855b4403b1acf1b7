"""What several of these tests share."""

from __future__ import annotations

import pytest

from inference.kernels.compiler import NoKernels
from inference.kernels.library import Kernels
from inference.models.weights.packed_cache import PackedCache
from tests.environment import KERNELS, WEIGHTS


@pytest.fixture(scope="session")
def kernels() -> Kernels:
    """On two threads, so that what they share is tested."""
    try:
        return Kernels(KERNELS, 2)
    except NoKernels as reason:
        pytest.skip(f"no kernels here: {reason}")


@pytest.fixture(scope="session")
def weights() -> PackedCache:
    """Of the bundled model, packed once for all tests that load it."""
    return PackedCache(WEIGHTS)
