"""The operation that tells how much a user's saved traces take."""

from __future__ import annotations

from django.http import HttpRequest

from webapp.ground.gateway.errors import user_id
from webapp.ground.gateway.structs import Result
from webapp.traces.library.quota import storage_of


class TraceStorage(Result):
    """The room that the user's saved traces take, and the quota for imports."""

    used_bytes: int
    """All saved traces of the user, compressed as they are kept: own answers and imports."""
    limit_bytes: int
    """An import beyond this is refused. Traces of own answers are always saved."""


def show_storage(request: HttpRequest) -> TraceStorage:
    """Show how much room your saved traces take."""
    found = storage_of(user_id(request))
    return TraceStorage(used_bytes=found.used_bytes, limit_bytes=found.limit_bytes)
