"""Stored responses of one user. Knows nothing of a family's forms."""

from __future__ import annotations

from typing import Any

from webapp.identity.keys.models import ApiKey
from webapp.requests.models import Request
from webapp.surfaces.calls.models import StoredResponse


def store(request: Request, body: dict[str, Any]) -> None:
    """Store a response with its request, in the transaction that saves this."""
    StoredResponse.objects.create(request=request, body=body)


def find_stored(user_id: int, request_id: str, key: ApiKey | None = None) -> StoredResponse | None:
    """The user's own stored response, with its request; None: there is none, or it is another user's.

    key: its scope leaves out the responses of other models.
    """
    rows = StoredResponse.objects.select_related("request").defer("request__input")
    if key is not None and key.models:
        rows = rows.filter(request__model__in=key.models)
    return rows.filter(pk=request_id, request__user_id=user_id).first()
