"""A user's rows as files: JSON lines of what is theirs, CSV of the numbers that the site keeps.

No secret goes out: no password's hash, no token's, no key's, no session's key. Knows nothing of the tables' meaning.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec
from django.db.models import BinaryField

from webapp.operations.privacy.holdings import Holding

_SECRET = {"password", "token_sha256", "session_key", "session_data"}
_SECRET_IN = {"keys.apikey": {"digest"}}
"""Columns whose name is no secret elsewhere."""
_AT_ONCE = 50
"""Rows fetched at once: a request's row may hold a conversation."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet computes a text cell that begins with one of these."""


def file_of(holding: Holding, user_id: int) -> Iterator[bytes]:
    """Yield the pieces of the table's file; none where the user has no row."""
    found = _rows(holding, user_id)
    first = next(found, None)
    if first is None:
        return
    if not holding.goes:
        yield _csv_line(list(first))
    for row in chain([first], found):
        yield _line(holding, row)


def name_of(holding: Holding) -> str:
    """Unique: a table may name the user in several columns."""
    column = "" if holding.path.endswith("user") else f"-by-{holding.path}"
    return f"records/{holding.label}{column}.{'jsonl' if holding.goes else 'csv'}"


def _rows(holding: Holding, user_id: int) -> Iterator[dict[str, Any]]:
    fields = holding.model._meta.concrete_fields
    secret = _SECRET | _SECRET_IN.get(holding.label, set())
    names = [each.attname for each in fields if not isinstance(each, BinaryField) and each.name not in secret]
    found: Iterator[dict[str, Any]] = holding.rows(user_id).order_by("pk").values(*names).iterator(chunk_size=_AT_ONCE)
    return found


def _line(holding: Holding, row: dict[str, Any]) -> bytes:
    return msgspec.json.encode(row) + b"\n" if holding.goes else _csv_line([_cell(value) for value in row.values()])


def _csv_line(cells: list[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerow(cells)
    return out.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    encoded = msgspec.json.encode(value).decode()
    return encoded.strip('"')
