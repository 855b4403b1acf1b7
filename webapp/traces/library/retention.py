"""Traces are deleted when they are as old as their user's rule says. The bill and the usage, in the ledger, stay."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from webapp.requests.models import Request
from webapp.traces import store
from webapp.traces.models import Entry, RetentionRule

MAX_DAYS = 3650
_MAX_AT_ONCE = 200
"""The watchdog, which calls this, has other things to look after."""


def due(user_id: int, keep_days: int, now: datetime) -> QuerySet[Request]:
    """The user's traces that were saved longer ago than that and are not pinned."""
    limit = now - timedelta(days=keep_days)
    saved = Request.objects.filter(user_id=user_id, finished_at__lt=limit, trace__isnull=False)
    return saved.exclude(trace__entry__is_pinned=True).order_by("finished_at")


def enforce(now: datetime) -> int:
    """Delete what is due, of all users; so many were deleted, and there may be more."""
    num_deleted = 0
    for rule in RetentionRule.objects.all():
        found = due(rule.user_id, rule.keep_days, now).select_related("message")
        for request in found.defer("input", "output_text")[: _MAX_AT_ONCE - num_deleted]:
            num_deleted += delete_unpinned(request)
    return num_deleted


def delete_unpinned(request: Request) -> bool:
    """Whether it was deleted: its owner may have pinned it since it was found."""
    with transaction.atomic():
        entry = Entry.objects.select_for_update().filter(pk=request.pk).first()
        if entry is not None and entry.is_pinned:
            return False
        store.delete(request)
        return True
