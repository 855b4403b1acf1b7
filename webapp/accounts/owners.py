"""Owners of groups: names them and ends their ownership. Knows nothing of what an owner may see.

An owner is a member of the group. The role ends when the member leaves, so that a return does not bring it back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.signals import m2m_changed

from webapp.accounts.models import Membership
from webapp.audit.log import record

_OWNER = Membership.Role.OWNER


class NotAMember(Exception):
    """Only a member becomes an owner."""


def owned_by(user_id: int) -> QuerySet[Group]:
    """The groups of which the user is an owner and a member, by name."""
    owned = _owners().filter(user_id=user_id).values("group_id")
    return Group.objects.filter(pk__in=owned).order_by("name")


def owners_by_group() -> dict[int, list[User]]:
    """The owners of each group that has some, by name."""
    found = defaultdict[int, list[User]](list)
    for row in _owners().select_related("user").order_by("user__username"):
        found[row.group_id].append(row.user)
    return found


def name_owner(group: Group, user: User) -> None:
    """Make a member an owner; does nothing where the member is one. Raises NotAMember."""
    with transaction.atomic():
        # The lock makes a departure wait, which then ends the ownership.
        if not User.groups.through.objects.select_for_update().filter(user=user, group=group).first():
            raise NotAMember
        _, is_new = Membership.objects.get_or_create(user=user, group=group, defaults={"role": _OWNER})
        if is_new:
            record(user, "named as an owner of a group", {}, {"group": group.name})


def end_ownership(group_ids: Iterable[int], user: User) -> int:
    """End the user's ownership of these groups; return the number of groups that the user owned."""
    with transaction.atomic():
        rows = list(Membership.objects.filter(group_id__in=list(group_ids), user=user).select_related("group"))
        for row in rows:
            row.delete()
            record(user, "ended the ownership of", {"group": row.group.name}, {})
    return len(rows)


def follow_departures() -> None:
    """End the ownership of each user who leaves a group."""
    m2m_changed.connect(_on_members_changed, sender=User.groups.through, dispatch_uid="webapp.accounts.owners")


def _owners() -> QuerySet[Membership]:
    return Membership.objects.filter(role=_OWNER, group__user=F("user"))


def _on_members_changed(instance: Any, action: str, reverse: bool, pk_set: set[int] | None, **_more: Any) -> None:
    """instance: a user, or in reverse a group. pk_set: the rows on the other side; None: all of them."""
    if action not in ("post_remove", "post_clear"):
        return
    left = Membership.objects.filter(group=instance) if reverse else Membership.objects.filter(user=instance)
    if pk_set is not None:
        left = left.filter(user_id__in=pk_set) if reverse else left.filter(group_id__in=pk_set)
    for row in left.select_related("user"):
        end_ownership([row.group_id], row.user)
