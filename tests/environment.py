"""The tests' own data folder and Redis address, set before Django or a worker reads the environment.

Loaded as a pytest plugin (see pyproject.toml), because pytest-django reads the settings before any conftest.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

DATA = tempfile.mkdtemp(prefix="sightglass-test-")
atexit.register(shutil.rmtree, DATA, ignore_errors=True)
os.environ["SIGHTGLASS_DATA"] = DATA
os.environ["SIGHTGLASS_REDIS_URL"] = f"unix://{DATA}/redis.sock?db=0"
# Two threads that share a busy core wait for each other at every matrix product.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
MADE = Path(os.environ.setdefault("SIGHTGLASS_TEST_MADE", f"{DATA}/made"))
"""Kernels and packed weights, which take seconds to make. All processes of one run share them; the first makes them."""
KERNELS, WEIGHTS = MADE / "kernels", MADE / "weights"


def share_made(data: Path) -> None:
    """Let a product with this data folder use what another test has made."""
    data.mkdir(parents=True, exist_ok=True)
    for folder in (KERNELS, WEIGHTS):
        folder.mkdir(parents=True, exist_ok=True)
        if not (data / folder.name).exists():
            (data / folder.name).symlink_to(folder)
