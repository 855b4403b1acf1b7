"""Names of a user's saved objects: one line, unique per user. Knows nothing of the objects."""

from __future__ import annotations

from typing import Protocol

from django.db import IntegrityError, transaction

from webapp.ground.gateway.errors import ApiError

_MAX_NAME_CHARS = 80


class Named(Protocol):
    """A row whose table allows each name once per user."""

    name: str

    def save(self) -> None: ...


def checked_name(text: str, kind: str) -> str:
    """Return the name without double spaces. kind: the object's kind, for the message. Raises ApiError."""
    name = " ".join(text.split())
    if not name.isprintable() or not 0 < len(name) <= _MAX_NAME_CHARS:
        raise ApiError(400, "invalid", f"A {kind}'s name has 1 to {_MAX_NAME_CHARS} printable characters.", "name")
    return name


def save_named(row: Named, kind: str) -> None:
    """Save the row. Raises ApiError where the user has another of that name."""
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        message = f"There is a {kind} named {row.name!r} already. Choose another name."
        raise ApiError(409, "exists", message, "name") from None
