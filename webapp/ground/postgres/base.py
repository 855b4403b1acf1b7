"""The engine: Django's own for PostgreSQL, with connections that wait for no reply forever."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from django.utils.asyncio import async_unsafe
from psycopg import IsolationLevel

from webapp.ground.postgres.limits import CONNECT_S, SILENCE_S
from webapp.ground.postgres.patience import long_statements


class Connection(psycopg.Connection[Any]):
    """A connection that ends where the server gives no reply in time: libpq itself has no such limit."""

    silence_s: float | None = SILENCE_S
    """Longest wait for a reply; None: there is no limit."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        limit_s = self.silence_s if timeout is None else timeout
        try:
            return super().wait(gen, interval, limit_s)
        except psycopg.errors._WaitTimeout:
            self.pgconn.finish()  # a late reply would be taken for that of the next statement
            raise psycopg.OperationalError(f"the database gave no reply in {limit_s:g} s") from None


class SchemaEditor(DatabaseSchemaEditor):
    """A migration's statements may take as long as the tables are large."""

    def __enter__(self) -> Any:
        self._limits = ExitStack()
        self._limits.enter_context(long_statements(self.connection))
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        with self._limits:
            super().__exit__(*error)


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = SchemaEditor

    @async_unsafe
    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        self.isolation_level = IsolationLevel.READ_COMMITTED
        return Connection.connect(**conn_params)

    def is_usable(self) -> bool:
        """A kept connection answers at once or is given up, so that its thread soon has another."""
        held: Any = self.connection
        if held is None:
            return False
        before, held.silence_s = held.silence_s, CONNECT_S
        try:
            return super().is_usable()
        finally:
            held.silence_s = before
