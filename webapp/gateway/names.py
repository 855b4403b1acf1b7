"""Names that users give to what they keep: one line, each once for its user. Knows nothing of what is named."""

from __future__ import annotations

from typing import Protocol

from django.db import IntegrityError, transaction

from webapp.gateway.errors import ApiError

_MAX_NAME_CHARS = 80


class Named(Protocol):
    """A row whose table takes each name of a user once."""

    name: str

    def save(self) -> None: ...


def checked_name(text: str, kind: str) -> str:
    """Without double spaces. kind: what is named, for the sentence. Raises ApiError."""
    name = " ".join(text.split())
    if not name.isprintable() or not 0 < len(name) <= _MAX_NAME_CHARS:
        raise ApiError(400, "invalid", f"A {kind}'s name has 1 to {_MAX_NAME_CHARS} printable characters.", "name")
    return name


def save_named(row: Named, kind: str) -> None:
    """Raises ApiError where the user has another of that name."""
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        message = f"There is a {kind} named {row.name!r} already. Choose another name."
        raise ApiError(409, "exists", message, "name") from None
