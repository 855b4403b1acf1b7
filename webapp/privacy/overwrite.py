"""Clears deleted rows from the database's own files. Knows nothing of the rows."""

from __future__ import annotations

from collections.abc import Iterable

from django.apps import apps
from django.db import connection

_PATIENCE_MS = 200
"""Time for which writers may wait for readers of the log."""


def overwrite(labels: Iterable[str]) -> bool:
    """Clear what was deleted from these tables; False: a reader is in the way, so that it is to be tried again.

    SQLite overwrites deleted rows in its file (secure_delete); its write-ahead log still has them. PostgreSQL keeps
    them until a VACUUM.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            for label in labels:
                cursor.execute(f"VACUUM {connection.ops.quote_name(apps.get_model(label)._meta.db_table)}")
            return True
        ((patience,),) = cursor.execute("PRAGMA busy_timeout").fetchall()
        cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
        try:
            is_busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {patience}")
        return not is_busy
