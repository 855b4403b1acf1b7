"""The database of the simulated processes: real SQLite files, one connection for each thread.

A statement is a place where a thread waits, may be killed, or loses the database. One transaction writes at a time.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import OperationalError, connections
from django.db.backends.sqlite3.base import DatabaseWrapper

from tests.simulation.world import Thread, World

_OPTIONS = {
    "timeout": 0,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;",
}
_TABLE = re.compile(r'(?:FROM|INTO|UPDATE) "(\w+)"')
_READS = ("SELECT", "RELEASE", "ROLLBACK")


class Database:
    """A migrated file, emptied before each run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._free: list[DatabaseWrapper] = []
        self._before = connections["default"]
        self._own = self._connect()
        self.install(self._own)
        call_command("migrate", verbosity=0)
        self._raw = sqlite3.connect(path, isolation_level=None)
        self._raw.execute("PRAGMA synchronous=OFF")
        self._emptied: list[str] = []
        self._world: World | None = None
        self._writer: DatabaseWrapper | None = None
        self._installed: DatabaseWrapper | None = None
        self.errors = 0.0
        """The share of statements that fail."""

    def keep_rows(self) -> None:
        """Keep what is now in the tables when they are emptied."""
        self._emptied = sorted(table for table in self._tables() if not self._has_rows(table))

    def close(self) -> None:
        connections["default"] = self._before
        for connection in (*self._free, self._own):
            connection.close()
        self._raw.close()

    def begin(self, world: World) -> None:
        """Empty the tables for another run."""
        self.install(self._own)
        self._world, self._writer, self.errors = world, None, 0.0
        self._raw.execute("BEGIN")
        for table in self._emptied:
            if self._has_rows(table):
                self._raw.execute(f'DELETE FROM "{table}"')
        self._raw.execute("COMMIT")

    def install(self, connection: DatabaseWrapper | None = None) -> None:
        """Let the code that runs next use this connection; None: the tests' own."""
        self._installed = connection or self._own
        connections["default"] = self._installed

    def enter(self, thread: Thread) -> None:
        if thread.connection is None:
            thread.connection = self._free.pop() if self._free else self._connect()
        if self._installed is not thread.connection:
            self.install(thread.connection)

    def leave(self, thread: Thread) -> None:
        if thread.connection is not None:
            self._free.append(thread.connection)
            thread.connection = None

    def row(self, query: str, *parameters: object) -> tuple[Any, ...] | None:
        """Return the first row, as other processes see it: from committed transactions."""
        found: tuple[Any, ...] | None = self._raw.execute(query, parameters).fetchone()
        return found

    def _connect(self) -> DatabaseWrapper:
        settings = self._before.settings_dict | {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(self._path),
            "OPTIONS": _OPTIONS,
            "CONN_MAX_AGE": None,
        }
        connection = DatabaseWrapper(settings, "default")

        def wrapped(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
            self._reach(connection, sql)
            return execute(sql, params, many, context)

        connection.execute_wrappers.append(wrapped)
        return connection

    def _reach(self, connection: DatabaseWrapper, sql: str) -> None:
        world = self._world if connection is not self._own else None
        if world is None or sql.startswith(("RELEASE", "ROLLBACK")):
            return
        world.travel()
        if world.chance(self.errors):
            world.tell("the database is away")
            world.disturb()
            raise OperationalError("the database is away")
        if not sql.startswith(_READS):
            while self._writer not in (None, connection) and self._writer.in_atomic_block:
                world.pause(world.latency())
            self._writer = connection
            world.wrote()
        if world.trace is not None:
            table = _TABLE.search(sql)
            world.tell("sql %s %s", sql.split()[0], table[1] if table else "")

    def _tables(self) -> set[str]:
        rows = self._raw.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        return {name for (name,) in rows if not name.startswith(("sqlite_", "django_"))}

    def _has_rows(self, table: str) -> bool:
        return self._raw.execute(f'SELECT 1 FROM "{table}" LIMIT 1').fetchone() is not None
