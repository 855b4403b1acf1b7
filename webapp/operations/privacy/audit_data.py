"""The audit log's entries that concern a user, and the user's names in them. Knows nothing of what they tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model, QuerySet

from webapp.operations.privacy.texts import names_of, pattern_of, without

_AT_ONCE = 500
_TEXTS = ("object_repr", "changes", "additional_data")


def about(user_id: int) -> QuerySet[LogEntry]:
    """The entries whose subject is the account."""
    subject = ContentType.objects.get_for_model(User)
    found: QuerySet[LogEntry] = LogEntry.objects.filter(content_type=subject, object_pk=str(user_id)).order_by("pk")
    return found


def forget_names(user: User, new_name: str) -> None:
    """Replace the account's names in the entries about it; its e-mail address in all entries."""
    if user.email:
        _replace(LogEntry.objects.order_by("pk"), [user.email], new_name)
    _replace(about(user.pk), names_of(user), new_name)
    LogEntry.objects.filter(actor=user).update(actor_email=None)


def forget_names_in(model: type[Model], ids: Iterable[Any], user: User, new_name: str) -> None:
    """Replace the account's name in the entries about these rows, which may be called after it."""
    subject = ContentType.objects.get_for_model(model)
    entries = LogEntry.objects.filter(content_type=subject, object_pk__in=[str(each) for each in ids])
    _replace(entries.order_by("pk"), [user.username], new_name)


def _replace(entries: QuerySet[LogEntry], names: Sequence[str], new_name: str) -> None:
    pattern = pattern_of(names)
    for entry in entries.iterator(_AT_ONCE):
        before = {name: getattr(entry, name) for name in _TEXTS}
        after = {name: without(value, pattern, new_name) for name, value in before.items()}
        if after != before:
            LogEntry.objects.filter(pk=entry.pk).update(**after)
