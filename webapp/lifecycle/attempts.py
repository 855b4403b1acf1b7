"""The number of a request's attempt: the process that takes the next one alone carries the request on."""

from __future__ import annotations

from django.db.models import F

from webapp.requests.models import Request


def take_attempt(request: Request) -> bool:
    """Take the next attempt's number; False where another process has taken it."""
    open_rows = Request.objects.filter(pk=request.pk, attempt=request.attempt, finished_at=None)
    is_taken = open_rows.update(attempt=F("attempt") + 1) == 1
    request.attempt += is_taken
    return is_taken
