"""Statements that may take longer than a request's: migrations, sums of all records, tables written anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def long_statements(connection: Any) -> Iterator[None]:
    """Lift the limits of a statement and of its reply for the block. The limit for a lock stays."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
    held = connection.connection
    before, held.silence_s = held.silence_s, None
    try:
        yield
    finally:
        held.silence_s = before
        # A transaction that failed takes its own SET back, and a lost connection is not used again.
        if before is not None and held.info.transaction_status.name in ("IDLE", "INTRANS"):
            held.execute("RESET statement_timeout")
