"""The site's own tests again, on PostgreSQL: what they say of SQLite holds there too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg

ROOT = Path(__file__).parents[2]
SUITES = [
    *(f"tests/webapp/{name}" for name in ("models/billing", "usage/limits", "traces/library")),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests/webapp/lifecycle").glob("test_*.py")),
]
"""The suites whose queries lock, count or search most. The whole suite takes half an hour there."""


def test_what_uses_the_database_passes_on_postgres(postgres_url: str) -> None:
    command = [sys.executable, "-m", "pytest", "-m", "django_db and not slow", "--create-db", "--reuse-db", *SUITES]
    environment = os.environ | {"SIGHTGLASS_DATABASE_URL": postgres_url}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    with psycopg.connect(postgres_url.replace("/postgres?", "/test_postgres?")) as database:
        row = database.execute("SELECT count(*) FROM django_migrations").fetchone()
    assert row is not None and row[0] > 10
