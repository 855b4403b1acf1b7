"""The audit log's entries that concern a user, and the user's names in them. Knows nothing of what they tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet

from webapp.privacy.holdings import Holding

_AT_ONCE = 500
_TEXTS = ("object_repr", "changes", "additional_data")


def about(user_id: int) -> QuerySet[LogEntry]:
    """The entries whose subject is the account."""
    subject = ContentType.objects.get_for_model(User)
    found: QuerySet[LogEntry] = LogEntry.objects.filter(content_type=subject, object_pk=str(user_id)).order_by("pk")
    return found


def forget_names(user: User, new_name: str) -> None:
    """Replace the account's names in the entries about it; its e-mail address in all entries."""
    names = [name for name in (user.username, user.first_name, user.last_name, user.get_full_name()) if name]
    if user.email:
        _replace(LogEntry.objects.order_by("pk"), [user.email], new_name)
    _replace(about(user.pk), names, new_name)
    LogEntry.objects.filter(actor=user).update(actor_email=None)


def forget_names_in(holding: Holding, ids: Iterable[Any], user: User, new_name: str) -> None:
    """Replace the account's name in the entries about its rows, which may be called after it."""
    subject = ContentType.objects.get_for_model(holding.model)
    entries = LogEntry.objects.filter(content_type=subject, object_pk__in=[str(each) for each in ids])
    _replace(entries.order_by("pk"), [user.username], new_name)


def _replace(entries: QuerySet[LogEntry], names: Sequence[str], new_name: str) -> None:
    longest_first = sorted(set(names), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    for entry in entries.iterator(_AT_ONCE):
        before = {name: getattr(entry, name) for name in _TEXTS}
        after = {name: _without(value, pattern, new_name) for name, value in before.items()}
        if after != before:
            LogEntry.objects.filter(pk=entry.pk).update(**after)


def _without(value: Any, pattern: re.Pattern[str], new_name: str) -> Any:
    """The JSON value with the new name in place of the others."""
    match value:
        case str():
            return pattern.sub(new_name, value)
        case dict():
            return {name: _without(each, pattern, new_name) for name, each in value.items()}
        case list():
            return [_without(each, pattern, new_name) for each in value]
    return value
