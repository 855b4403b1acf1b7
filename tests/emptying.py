"""Leaves the database as the migrations left it, after a test with transactions of its own.

Django's own way empties every table of the site and makes each permission anew, which takes 0.1 to 0.4 s a test. What
the migrations wrote is gone then. Here only tables that have rows are emptied, and the migrations' rows come back.
"""

from __future__ import annotations

from functools import cache

import pytest
from django.db import connections, transaction
from django.test import TransactionTestCase

from tests.rows import Rows, filled, put, rows_of

_DJANGOS_BEGINNING = TransactionTestCase._fixture_setup.__func__  # type: ignore[attr-defined]


@pytest.fixture(scope="session", autouse=True)
def only_written_tables_are_emptied() -> None:
    TransactionTestCase._fixture_setup = classmethod(_begin)  # type: ignore[assignment]
    TransactionTestCase._fixture_teardown = _empty_databases  # type: ignore[method-assign]


def _begin(case: type[TransactionTestCase]) -> None:
    """Before the first such test the database is as the migrations left it: all other tests are rolled back."""
    for alias in case._databases_names(include_mirrors=False):
        _migrated(alias)
    _DJANGOS_BEGINNING(case)


def _empty_databases(case: TransactionTestCase) -> None:
    for alias in case._databases_names(include_mirrors=False):
        _empty(alias)


def _empty(alias: str) -> None:
    with transaction.atomic(alias), connections[alias].cursor() as cursor:
        for name in filled(connections[alias]):
            cursor.execute(f"DELETE FROM {name}")
        put(connections[alias], _migrated(alias))


@cache
def _migrated(alias: str) -> Rows:
    """The rows that the migrations have written."""
    return rows_of(connections[alias])
