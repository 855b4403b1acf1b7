"""The tests' own data folder and Redis address, set before Django or a worker reads the environment.

Loaded as a pytest plugin (see pyproject.toml), because pytest-django reads the settings before any conftest.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

DATA = tempfile.mkdtemp(prefix="sightglass-test-")
atexit.register(shutil.rmtree, DATA, ignore_errors=True)
os.environ["SIGHTGLASS_DATA"] = DATA
os.environ["SIGHTGLASS_REDIS_URL"] = f"unix://{DATA}/redis.sock?db=0"
# Two threads that share a busy core wait for each other at every matrix product.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
MADE = Path(os.environ.setdefault("SIGHTGLASS_TEST_MADE", f"{DATA}/made"))
"""Kernels, packed weights and a migrated database, which take seconds to make.

All processes of one run share them; the first makes them.
"""
KERNELS, WEIGHTS = MADE / "kernels", MADE / "weights"
IS_WHOLE = "SIGHTGLASS_TEST_WHOLE" in os.environ
"""True: suites that usually run a part of what they could run all of it (`make test-whole`)."""
_ROOT = Path(__file__).parents[1]
_DATABASE = "sightglass.sqlite3"
_OF_ITS_OWN = ("SIGHTGLASS_DATABASE_URL", "SIGHTGLASS_MODEL", "SIGHTGLASS_BACKEND", "SIGHTGLASS_WORKERS")
"""Settings that a migration writes into the database, or that name another database."""
_MAKING = """
from django.core.management import call_command
from django.contrib.auth.models import User
call_command("migrate", verbosity=0)
User.objects.create(username="admin", is_staff=True, is_superuser=True)
"""


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over all that was imported: a full pass takes a second otherwise."""
    gc.collect()
    gc.freeze()


def share_made(data: Path) -> None:
    """Let a product with this data folder use what another test has made."""
    data.mkdir(parents=True, exist_ok=True)
    for folder in (KERNELS, WEIGHTS):
        folder.mkdir(parents=True, exist_ok=True)
        if not (data / folder.name).exists():
            (data / folder.name).symlink_to(folder)


def share_database(data: Path) -> None:
    """Let a new product with this data folder begin with a migrated SQLite database, of the usual configuration."""
    data.mkdir(parents=True, exist_ok=True)
    if (data / _DATABASE).exists():
        return
    if not (MADE / _DATABASE).exists():
        _make_database()
    shutil.copy(MADE / _DATABASE, data)


def needs_migration(settings: Iterable[str]) -> bool:
    """True: a product with these settings cannot begin with the shared database alone."""
    return any(name.startswith(_OF_ITS_OWN) for name in settings)


def _make_database() -> None:
    """Two processes may do so at once: each replaces the file as a whole."""
    MADE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MADE) as folder:
        environment = os.environ | {"SIGHTGLASS_DATA": folder}
        environment.pop("SIGHTGLASS_DATABASE_URL", None)
        command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", _MAKING]
        subprocess.run(command, cwd=_ROOT, env=environment, check=True)
        (Path(folder) / _DATABASE).replace(MADE / _DATABASE)
