"""Statements that may take longer than a request's: migrations, sums of all records, tables written anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from webapp.postgres.limits import SILENCE_S


@contextmanager
def long_statements(connection: Any) -> Iterator[None]:
    """Lift the limits of a statement and of its reply for the block. A lock is waited for no longer than else."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
    held = connection.connection
    held.silence_s = None
    try:
        yield
    finally:
        held.silence_s = SILENCE_S
        # A transaction that failed takes its own SET back, and a lost connection is not used again.
        if held.info.transaction_status.name in ("IDLE", "INTRANS"):
            held.execute("RESET statement_timeout")
