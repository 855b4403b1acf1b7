"""Clears deleted and replaced rows from the database's own files. Knows nothing of the rows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import OperationalError, connection

from webapp.ground.postgres.patience import long_statements

_CHANGED = ("auth.user", "auditlog.logentry", "admin.logentry", "alerts.delivery", "accounts.session")
"""Tables whose rows an erasure changes, or deletes without a count."""
_PATIENCE_MS = 200
"""Time for which writers may wait for readers that are in the way."""
_READERS_S = 2.0
"""Longest wait for transactions that began before; it holds no lock."""
_POLL_S = 0.05
_LOCK_NOT_AVAILABLE = "55P03"
_OLDER = """\
SELECT count(*) FROM pg_stat_activity
WHERE (datname = current_database() OR datname IS NULL) AND pid <> pg_backend_pid()
AND greatest(age(backend_xid), age(backend_xmin)) > age(%s::xid)"""


def overwrite(labels: Iterable[str]) -> bool:
    """Clear what was deleted from these tables; False: a reader is in the way, so that it is to be tried again.

    SQLite overwrites deleted rows in its file (secure_delete); its write-ahead log still has them. PostgreSQL keeps
    them, also after a plain VACUUM, until a table is written anew.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            return _write_anew(cursor, {apps.get_model(label)._meta.db_table for label in (*labels, *_CHANGED)})
        return _empty_log(cursor)


def _write_anew(cursor: Any, tables: Iterable[str]) -> bool:
    """Write the tables and their statistics anew. Each is locked meanwhile, after a short wait for the lock."""
    if not _wait_for_older(cursor):
        return False
    with long_statements(connection), _setting(cursor, "lock_timeout", _PATIENCE_MS):
        try:
            for table in sorted(tables):
                cursor.execute(f"VACUUM (FULL, ANALYZE) {connection.ops.quote_name(table)}")
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
                raise
            return False
    return True


def _wait_for_older(cursor: Any) -> bool:
    """Wait for transactions that may still see what was deleted: the new files would keep it for them."""
    cursor.execute("SELECT pg_current_xact_id()::xid::text")
    now = cursor.fetchone()[0]
    deadline = time.monotonic() + _READERS_S
    while True:
        cursor.execute(_OLDER, [now])
        if not cursor.fetchone()[0]:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)


@contextmanager
def _setting(cursor: Any, name: str, value: int) -> Iterator[None]:
    cursor.execute(f"SET {name} = {value}")
    try:
        yield
    finally:
        cursor.execute(f"RESET {name}")


def _empty_log(cursor: Any) -> bool:
    ((patience,),) = cursor.execute("PRAGMA busy_timeout").fetchall()
    cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
    try:
        is_busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        cursor.execute(f"PRAGMA busy_timeout = {patience}")
    return not is_busy
