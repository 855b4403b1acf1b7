"""Reads and writes rules in the database. Knows nothing of requests and of how they are counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q

from webapp.identity.accounts.models import Role
from webapp.identity.accounts.roles import is_views_only, roles_of
from webapp.requests.models import MAX_IN_FLIGHT
from webapp.usage.limits.effective import Effective, Values, effective
from webapp.usage.limits.models import AMOUNTS, FLAGS, Rule
from webapp.usage.limits.refusal import Refused, sending_stopped, switched_off, views_only

Subject = User | Group | None
"""None: the whole site."""


def effective_of(user_id: int) -> Effective:
    """The limits and flags in force for a user."""
    roles = roles_of(user_id)
    concerns = Q(user_id=user_id) | Q(group__in=list(roles)) | Q(is_site=True)
    rules = list(Rule.objects.filter(concerns))
    own = next((values_of(rule) for rule in rules if rule.user_id), Values())
    site = next((values_of(rule) for rule in rules if rule.is_site), Values())
    of_groups = {rule.group_id: values_of(rule) for rule in rules if rule.group_id}
    viewed = [of_groups.pop(pk) for pk, role in roles.items() if role is Role.VIEWER and pk in of_groups]
    found = effective(own, list(of_groups.values()), site, MAX_IN_FLIGHT, viewed)
    return replace(found, views_only=set(roles.values()) == {Role.VIEWER})


def check_flag(user_id: int, flag: str) -> None:
    """Raises Refused where the flag is off."""
    if not getattr(effective_of(user_id), flag):
        raise switched_off(flag)


def check_sending(user_id: int) -> None:
    """Raises Refused where the user's sending is stopped, or the user only views."""
    if (refused := refusal_of(effective_of(user_id))) is not None:
        raise refused


def check_working(user_id: int) -> None:
    """Raises Refused where the user is a viewer in each of the own groups."""
    if is_views_only(user_id):
        raise views_only()


def refusal_of(found: Effective) -> Refused | None:
    """Why the user may begin no work at all. None: limits alone decide."""
    if found.views_only:
        return views_only()
    return None if found.stop_reason is None else sending_stopped(found.stop_reason)


def rule_of(subject: Subject) -> Rule:
    """The subject's rule, or a new one that says nothing and is not saved."""
    named = _named(subject)
    return Rule.objects.filter(**named).first() or Rule(**named)


def values_of(rule: Rule) -> Values:
    said: dict[str, Any] = {name: getattr(rule, name) for name in (*AMOUNTS, *FLAGS)}
    return Values(**said, stop_reason=rule.stop_reason if rule.is_stopped else None)


@transaction.atomic
def change(subject: Subject, **values: Any) -> tuple[Rule, dict[str, Any]]:
    """Change values of the subject's rule. Returns the saved rule, and its values before."""
    rule, _ = Rule.objects.select_for_update().get_or_create(**_named(subject))
    before = {name: getattr(rule, name) for name in values}
    for name, value in values.items():
        setattr(rule, name, value)
    rule.save()
    return rule, before


def _named(subject: Subject) -> dict[str, Any]:
    match subject:
        case User():
            return {"user": subject}
        case Group():
            return {"group": subject}
    return {"is_site": True}
