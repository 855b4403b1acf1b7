"""Empties the tables that a test with transactions of its own has written. Knows nothing of what it wrote.

Django's own way empties every table of the site and makes each permission anew, which takes 0.1 to 0.4 s a test.
"""

from __future__ import annotations

import pytest
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase

_KEPT = {"django_content_type", "auth_permission"}
"""Made by the migrations' end, and written by no test."""


@pytest.fixture(scope="session", autouse=True)
def only_written_tables_are_emptied() -> None:
    TransactionTestCase._fixture_teardown = _empty_databases  # type: ignore[method-assign]


def _empty_databases(case: TransactionTestCase) -> None:
    for alias in case._databases_names(include_mirrors=False):
        _empty(connections[alias])


def _empty(connection: BaseDatabaseWrapper) -> None:
    from webapp.models.registry.configured import on_migrated
    from webapp.usage.roll_up import recount_if_never_counted

    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        names = [connection.ops.quote_name(name) for name in _tables(connection)]
        cursor.execute(" UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in names))
        for (name,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {name}")
    on_migrated()
    recount_if_never_counted()


def _tables(connection: BaseDatabaseWrapper) -> set[str]:
    return set(connection.introspection.django_table_names(only_existing=True, include_views=False)) - _KEPT
