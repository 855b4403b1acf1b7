"""Two months of demonstration data. One process of a run seeds them; every test that reads them puts the same rows."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from tempfile import NamedTemporaryFile

from django.db import connection, transaction

from tests.environment import MADE
from tests.rows import Rows, put, rows_of
from webapp.operations.demo.seed import seed

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAYS = 60
_FILE = MADE / "demonstration.pickle"


def put_demonstration() -> None:
    """Write the rows into a SQLite database that has only the migrations' rows."""
    if connection.vendor != "sqlite":  # elsewhere a row with its number leaves the sequence behind
        seed(NOW, DAYS)
    elif _FILE.exists():
        with transaction.atomic():
            put(connection, pickle.loads(_FILE.read_bytes()))
    else:
        _keep(_seeded())


def _seeded() -> Rows:
    before = rows_of(connection)
    seed(NOW, DAYS)
    return {name: new for name, rows in rows_of(connection).items() if (new := _new(rows, before.get(name, [])))}


def _new(rows: list[tuple[object, ...]], before: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    known = set(before)
    return [row for row in rows if row not in known]


def _keep(rows: Rows) -> None:
    """Two processes may do so at once: each replaces the file as a whole."""
    MADE.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=MADE, delete=False) as file:
        pickle.dump(rows, file)
    MADE.joinpath(file.name).replace(_FILE)
