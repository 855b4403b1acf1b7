"""Deletes traces that are older than their user's rule or the operator's allows. Bill and usage stay."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from webapp.requests.models import Request
from webapp.traces import store
from webapp.traces.library.site_retention import load_rules
from webapp.traces.models import Entry, RetentionRule

MAX_DAYS = 3650
_MAX_AT_ONCE = 200
"""Limit per call, because the watchdog, which calls this, has other work."""


def due(user_id: int, keep_days: int, now: datetime) -> QuerySet[Request]:
    """The user's unpinned traces that were saved more than keep_days ago."""
    limit = now - timedelta(days=keep_days)
    saved = Request.objects.filter(user_id=user_id, finished_at__lt=limit, trace__isnull=False)
    return saved.exclude(trace__entry__is_pinned=True).order_by("finished_at")


def enforce(now: datetime) -> int:
    """Delete due traces of all users and return their number; more may be due."""
    num_deleted = 0
    for rule in RetentionRule.objects.all():
        found = due(rule.user_id, rule.keep_days, now).select_related("message")
        for request in found.defer("input", "output_text")[: _MAX_AT_ONCE - num_deleted]:
            num_deleted += delete_unpinned(request)
    return num_deleted + _enforce_site_rules(now, _MAX_AT_ONCE - num_deleted)


def _enforce_site_rules(now: datetime, num: int) -> int:
    found = list(load_rules().due(now).select_related("message").defer("input", "output_text")[:num])
    for request in found:
        store.delete(request)
    return len(found)


def delete_unpinned(request: Request) -> bool:
    """Delete the trace; False if its owner has pinned it since it was found."""
    with transaction.atomic():
        entry = Entry.objects.select_for_update().filter(pk=request.pk).first()
        if entry is not None and entry.is_pinned:
            return False
        store.delete(request)
        return True
