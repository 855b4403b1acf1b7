"""Reads and writes shared rules, also those of a single key. Knows nothing of how their amounts are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Min, Q, QuerySet

from webapp.ground.audit.log import record
from webapp.identity.accounts.roles import groups_worked_for
from webapp.identity.keys.models import ApiKey
from webapp.usage.limits.models import SharedRule


@dataclass(frozen=True)
class SharedBy:
    """The requests that share a rule: of a model, of a user at a model, of a group, of a key, or all of the site."""

    model: str = ""
    user: User | None = None
    group: Group | None = None
    key: ApiKey | None = None
    is_of_owners: bool = False
    """The group's owners set the rule, not the operators."""

    @property
    def subject(self) -> str:
        if self.group is not None:
            return f"group:{self.group.pk}{' owners' if self.is_of_owners else ''}"
        if self.key is not None:
            return self.key.principal
        of_user = f" user:{self.user.pk}" if self.user is not None else ""
        return f"model:{self.model}{of_user}" if self.model else "site"


def shared_rules(user_id: int, model: str, key_id: int | None) -> QuerySet[SharedRule]:
    """Rules that concern a user's request to a model, in the order in which they are locked. key_id: its key."""
    by_model = Q(model="") | Q(model=model)
    by_user = Q(user=None) | Q(user_id=user_id)
    by_group = Q(group=None) | Q(group__in=groups_worked_for(user_id))
    return SharedRule.objects.filter(by_model, by_user, by_group, Q(key=None) | Q(key_id=key_id)).order_by("pk")


def shared_budget(group_id: int) -> int | None:
    """The budget of a month that a group's members share: the operators', or a lower one of its owners."""
    found = SharedRule.objects.filter(group_id=group_id).aggregate(least=Min("monthly_budget_nano"))
    least: int | None = found["least"]
    return least


def change_shared(shared_by: SharedBy, amounts: Mapping[str, int | None]) -> tuple[SharedRule, dict[str, Any]]:
    """Change the subject's amounts. Returns the saved rule, and its amounts before."""
    rules = SharedRule.objects.select_for_update()
    rule, _ = rules.get_or_create(subject=shared_by.subject, defaults=vars(shared_by))
    before = {name: getattr(rule, name) for name in amounts}
    for name, value in amounts.items():
        setattr(rule, name, value)
    rule.save()
    return rule, before


def remove_shared(shared_by: SharedBy) -> SharedRule | None:
    """Remove the subject's rule. None: it has none."""
    rule = SharedRule.objects.select_for_update().filter(subject=shared_by.subject).first()
    if rule is not None:
        SharedRule.objects.filter(pk=rule.pk).delete()
    return rule


def set_shared(shared_by: SharedBy, amounts: Mapping[str, int | None]) -> None:
    """Set all amounts of the subject, and record the change. Without any amount the rule is removed."""
    if all(value is None for value in amounts.values()):
        removed = remove_shared(shared_by)
        if removed is not None:
            record(removed, "removed the shared limits of", {"subject": removed.subject}, {})
        return
    rule, before = change_shared(shared_by, amounts)
    changed = [name for name in amounts if amounts[name] != before[name]]
    if changed:
        was, now = ({name: values[name] for name in changed} for values in (before, amounts))
        record(rule, "set the shared limits of", was, now)
