"""The site's own tests again, on PostgreSQL: what they say of SQLite holds there too.

`make test-whole` runs whole suites there. The usual run takes the tests with the mark `database` alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg

from tests.environment import IS_WHOLE

ROOT = Path(__file__).parents[2]
SITE = ROOT / "tests" / "webapp"
_SUITES = ("billing", "lifecycle", "limits", "library")
"""The suites whose queries lock, count or search most. All suites take half an hour there."""


def test_what_uses_the_database_passes_on_postgres(postgres_url: str) -> None:
    marks, paths = ("django_db", _whole_suites()) if IS_WHOLE else ("django_db and database", _marked())
    options = ["-m", f"{marks} and not slow", "--create-db", "--reuse-db"]
    environment = os.environ | {"SIGHTGLASS_DATABASE_URL": postgres_url}
    command: list[str | Path] = [sys.executable, "-m", "pytest", *options, *paths]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    with psycopg.connect(postgres_url.replace("/postgres?", "/test_postgres?")) as database:
        row = database.execute("SELECT count(*) FROM django_migrations").fetchone()
    assert row is not None and row[0] > 10


def _marked() -> list[Path]:
    """The files with a marked test. Collecting all others would take longer than running these."""
    return [path for path in sorted(SITE.rglob("test_*.py")) if "pytest.mark.database" in path.read_text("utf-8")]


def _whole_suites() -> list[Path]:
    folders = [path for path in sorted(SITE.rglob("*")) if path.is_dir() and path.name in _SUITES]
    assert {folder.name for folder in folders} == {*_SUITES}
    return [path for folder in folders for path in sorted(folder.glob("test_*.py"))]
