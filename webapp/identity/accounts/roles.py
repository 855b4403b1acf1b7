"""Reads the roles of users in their groups. Knows nothing of how a role is given.

A user's request is tied to each group in which the user works, as an owner or a member. A viewer works for no group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import F, OuterRef, QuerySet, Subquery

from webapp.identity.accounts.models import Membership, Role


@dataclass(frozen=True)
class Place:
    """A user's place in a group."""

    user: User
    group: Group
    role: Role


def places_of(user: User) -> list[Place]:
    """The user's groups by name, each with the role."""
    roles = roles_of(user.pk)
    return [Place(user, group, roles[group.pk]) for group in user.groups.order_by("name") if group.pk in roles]


def people_of(group: Group) -> list[Place]:
    """The group's people: owners first, then members and viewers, by name."""
    given = dict(Membership.objects.filter(group=group).values_list("user_id", "role"))
    found = [Place(each, group, Role(given.get(each.pk, Role.MEMBER))) for each in group.user_set.order_by("username")]
    return sorted(found, key=lambda place: list(Role).index(place.role))


def roles_of(user_id: int) -> dict[int, Role]:
    """The user's role in each group, by the group's id."""
    given = Membership.objects.filter(user_id=user_id, group=OuterRef("group")).values("role")
    groups: QuerySet[Any] = User.groups.through.objects.filter(user_id=user_id).annotate(role=Subquery(given))
    return {group: Role(role or Role.MEMBER) for group, role in groups.values_list("group_id", "role")}


def role_of(user_id: int, group_id: int) -> Role | None:
    """The user's role in a group. None: the user is not in it, or there is no such group."""
    return roles_of(user_id).get(group_id)


def groups_worked_for(user_id: int) -> QuerySet[Group]:
    """The groups to which the user's requests are tied."""
    viewed = Membership.objects.filter(user_id=user_id, role=Role.VIEWER).values("group_id")
    return Group.objects.filter(user=user_id).exclude(pk__in=viewed)


def workers_of(group_id: int) -> QuerySet[User]:
    """The users whose requests are tied to the group."""
    viewers = Membership.objects.filter(group_id=group_id, role=Role.VIEWER).values("user_id")
    return User.objects.filter(groups=group_id).exclude(pk__in=viewers)


def is_views_only(user_id: int) -> bool:
    """True: the user is in a group, and in each of them as a viewer."""
    return set(roles_of(user_id).values()) == {Role.VIEWER}


def views_only_of(user_ids: Iterable[int]) -> set[int]:
    """Of these users, those who only view."""
    rows: QuerySet[Any] = User.groups.through.objects.filter(user_id__in=list(user_ids))
    pairs = set(rows.values_list("user_id", "group_id"))
    return {user for user, _ in pairs} - {user for user, _ in pairs - viewed_pairs()}


def viewed_pairs() -> set[tuple[int, int]]:
    """The ids of each viewer and of the group that is viewed."""
    rows = Membership.objects.filter(role=Role.VIEWER, group__user=F("user"))
    return set(rows.values_list("user_id", "group_id"))
