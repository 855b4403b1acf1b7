"""The tests' own data folder and Redis address, set before Django or a worker reads the environment.

Loaded as a pytest plugin (see pyproject.toml), because pytest-django reads the settings before any conftest.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

DATA = tempfile.mkdtemp(prefix="sightglass-test-")
atexit.register(shutil.rmtree, DATA, ignore_errors=True)
os.environ["SIGHTGLASS_DATA"] = DATA
os.environ["SIGHTGLASS_REDIS_URL"] = f"unix://{DATA}/redis.sock?db=0"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
