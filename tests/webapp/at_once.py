"""A call that waits for another transaction of this process: on PostgreSQL, which shows the wait."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from tests.faults.conftest import until

on_postgres = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")


def called_during(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """Call `second` on a connection of its own while `first` has not committed. Returns what `second` returns."""

    def call() -> Any:
        try:
            return second()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            first()
            answer = other.submit(call)
            until(lambda: answer.done() or _is_one_waiting(), 60)
        return answer.result(60)


def _is_one_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return bool(cursor.fetchone()[0])
