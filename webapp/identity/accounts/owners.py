"""Owners of groups: found, and ended with their departure. Knows nothing of what an owner may see.

An owner is in the group. A role ends when its user leaves, so that a return does not bring it back.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, QuerySet
from django.db.models.signals import m2m_changed

from webapp.ground.audit.log import record
from webapp.identity.accounts.models import Membership, Role


def owners_of(group_id: int) -> QuerySet[User]:
    """The owners of a group who can sign in."""
    return User.objects.filter(pk__in=_owners().filter(group_id=group_id).values("user_id"), is_active=True)


def owners_by_group() -> dict[int, list[User]]:
    """The owners of each group that has some, by name."""
    found = defaultdict[int, list[User]](list)
    for row in _owners().select_related("user").order_by("user__username"):
        found[row.group_id].append(row.user)
    return found


def follow_departures() -> None:
    """End the role of each user who leaves a group, whatever removes the user."""
    m2m_changed.connect(_on_people_changed, sender=User.groups.through, dispatch_uid="webapp.identity.accounts.owners")


def _owners() -> QuerySet[Membership]:
    return Membership.objects.filter(role=Role.OWNER, group__user=F("user"))


def _on_people_changed(instance: Any, action: str, reverse: bool, pk_set: set[int] | None, **_more: Any) -> None:
    """instance: a user, or in reverse a group. pk_set: the rows on the other side; None: all of them."""
    if action not in ("post_remove", "post_clear"):
        return
    left = Membership.objects.filter(group=instance) if reverse else Membership.objects.filter(user=instance)
    if pk_set is not None:
        left = left.filter(user_id__in=pk_set) if reverse else left.filter(group_id__in=pk_set)
    for row in left.select_related("user", "group"):
        row.delete()
        record(row.user, "ended the role of", {"group": row.group.name, "role": row.role}, {})
