"""Reads and writes shared rules. Knows nothing of how their amounts are counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Q, QuerySet

from webapp.limits.models import SharedRule


def shared_rules(user_id: int, model: str) -> QuerySet[SharedRule]:
    """Rules that concern a user's request to a model, in the order in which they are locked."""
    by_model = Q(model="") | Q(model=model)
    by_user = Q(user=None) | Q(user_id=user_id)
    by_group = Q(group=None) | Q(group__in=Group.objects.filter(user=user_id))
    return SharedRule.objects.filter(by_model, by_user, by_group).order_by("pk")


def change_shared(
    model: str, user: User | None, group: Group | None, amounts: Mapping[str, int | None]
) -> tuple[SharedRule, dict[str, Any]]:
    """Change the subject's amounts. Returns the saved rule, and its amounts before."""
    own = {"model": model, "user": user, "group": group}
    rule, _ = SharedRule.objects.select_for_update().get_or_create(subject=_subject(model, user, group), defaults=own)
    before = {name: getattr(rule, name) for name in amounts}
    for name, value in amounts.items():
        setattr(rule, name, value)
    rule.save()
    return rule, before


def remove_shared(model: str, user: User | None, group: Group | None) -> SharedRule | None:
    """Remove the subject's rule. None: it has none."""
    rule = SharedRule.objects.select_for_update().filter(subject=_subject(model, user, group)).first()
    if rule is not None:
        SharedRule.objects.filter(pk=rule.pk).delete()
    return rule


def _subject(model: str, user: User | None, group: Group | None) -> str:
    if group is not None:
        return f"group:{group.pk}"
    of_user = f" user:{user.pk}" if user is not None else ""
    return f"model:{model}{of_user}" if model else "site"
