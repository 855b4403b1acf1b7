"""Where a page of the trace list ends and the next begins. Opaque to the browser."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db.models import Q, QuerySet

from webapp.lifecycle.models import Request


class CursorError(Exception):
    """Not a cursor that we gave out."""


def cursor_of(request: Request) -> str:
    """Continues a list after this request."""
    return f"{request.created_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}~{request.pk}"


def after(requests: QuerySet[Request], cursor: str) -> QuerySet[Request]:
    """Those that follow in the list, newest first; equal times are told apart by id. Raises CursorError."""
    time, _, request_id = cursor.partition("~")
    try:
        created_at = datetime.strptime(time, "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=UTC)
    except ValueError:
        raise CursorError(cursor) from None
    # The first condition follows from the second, but only by it an index is entered at the right place.
    following = Q(created_at__lt=created_at) | Q(created_at=created_at, pk__lt=request_id)
    return requests.filter(created_at__lte=created_at).filter(following)
