"""Reads and writes the rows of the site's tables as the database holds them. Knows nothing of what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

_KEPT = {"django_content_type", "auth_permission"}
"""Made by the migrations' end, and written by no test."""

Rows = dict[str, list[tuple[Any, ...]]]
"""By the table's quoted name."""


def filled(connection: BaseDatabaseWrapper) -> list[str]:
    """The tables that have rows."""
    with connection.cursor() as cursor:
        cursor.execute(_question(connection.alias))
        return [name for (name,) in cursor.fetchall()]


def rows_of(connection: BaseDatabaseWrapper) -> Rows:
    found: Rows = {}
    with connection.cursor() as cursor:
        for name in filled(connection):
            cursor.execute(f"SELECT * FROM {name}")
            found[name] = cursor.fetchall()
    return found


def put(connection: BaseDatabaseWrapper, rows: Mapping[str, list[tuple[Any, ...]]]) -> None:
    with connection.cursor() as cursor:
        for name, each in rows.items():
            marks = ", ".join(["%s"] * len(each[0]))
            cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", each)


@cache
def _question(alias: str) -> str:
    introspection, quote = connections[alias].introspection, connections[alias].ops.quote_name
    found = introspection.django_table_names(only_existing=True, include_views=False)
    names = sorted(quote(name) for name in set(found) - _KEPT)
    return " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in names)
