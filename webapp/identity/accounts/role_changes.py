"""Gives, changes and ends the roles of users in groups. Knows nothing of who may do so.

Each change holds the group's lock: of two owners who leave at once, the second finds the first gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import Group, User
from django.db import transaction

from webapp.ground.audit.log import record
from webapp.identity.accounts.models import Invitation, Membership, Role
from webapp.identity.accounts.owners import owners_of
from webapp.identity.accounts.roles import role_of

MAX_INVITED = 100
"""Open invitations into one group."""


class NotInGroup(Exception):
    """The user is not in the group, or there is no such group."""


class NoInvitation(Exception):
    """The invitation is not there any more."""


class CannotInvite(Exception):
    """The user is in the group already, or the group has too many open invitations."""


class LastOwner(Exception):
    """The group would be left without an owner."""

    def __init__(self, user: User, group: Group) -> None:
        super().__init__(f"{user} is the last owner of {group.name}. Make another person an owner first.")


def invite(group: Group, user: User, role: Role, by: User) -> Invitation:
    """Invite a user; a second invitation replaces the first. Raises NotInGroup, CannotInvite."""
    with _locked(group.pk):
        if role_of(user.pk, group.pk) is not None:
            raise CannotInvite(f"{user} is in the group already. Change the role in the list.")
        others = Invitation.objects.filter(group=group).exclude(user=user)
        if others.count() >= MAX_INVITED:
            raise CannotInvite(f"The group has {MAX_INVITED} open invitations, the limit. Withdraw one first.")
        values = {"role": role, "invited_by": by}
        invitation, _ = Invitation.objects.update_or_create(user=user, group=group, defaults=values)
        record(user, "invited into a group", {}, _told(group, role))
    return invitation


def accept(invitation: Invitation) -> None:
    """Let the invited user join. Raises NoInvitation."""
    with _answered(invitation) as given:
        user, group = given.user, given.group
        if role_of(user.pk, group.pk) is None:
            user.groups.add(group)
            _store(user, group, Role(given.role))
        record(user, "accepted the invitation of", {}, _told(group, given.role))


def decline(invitation: Invitation) -> None:
    """End an invitation by its user. Raises NoInvitation."""
    with _answered(invitation) as given:
        record(given.user, "declined the invitation of", _told(given.group, given.role), {})


def withdraw(invitation: Invitation) -> None:
    """End an invitation by an owner of the group. Raises NoInvitation."""
    with _answered(invitation) as given:
        record(given.user, "withdrew the invitation of", _told(given.group, given.role), {})


def change_role(group: Group, user: User, role: Role, needs_owner: bool = True) -> None:
    """Change a role; does nothing where the user has it. Raises NotInGroup, LastOwner.

    needs_owner: the group keeps an owner.
    """
    with _locked(group.pk):
        before = _left_with_owner(group, user, needs_owner and role is not Role.OWNER)
        if before is not role:
            _store(user, group, role)
            record(user, "changed the role of", _told(group, before), _told(group, role))


def leave(group: Group, user: User, needs_owner: bool = True) -> None:
    """End a user's place in a group. Raises NotInGroup, LastOwner."""
    with _locked(group.pk):
        before = _left_with_owner(group, user, needs_owner)
        user.groups.remove(group)
        record(user, "ended the membership of", _told(group, before), {})


@contextmanager
def _locked(group_id: int) -> Iterator[None]:
    """Raises NotInGroup where the group was deleted. SQLite has one writer at a time."""
    with transaction.atomic():
        if Group.objects.select_for_update(no_key=True).filter(pk=group_id).first() is None:
            raise NotInGroup
        yield


@contextmanager
def _answered(invitation: Invitation) -> Iterator[Invitation]:
    """Take the invitation out, once. Raises NoInvitation."""
    try:
        with _locked(invitation.group_id):
            given = Invitation.objects.select_related("user", "group").filter(pk=invitation.pk).first()
            if given is None:
                raise NoInvitation
            Invitation.objects.filter(pk=given.pk).delete()
            yield given
    except NotInGroup:
        raise NoInvitation from None


def _left_with_owner(group: Group, user: User, needs_owner: bool) -> Role:
    """The user's role before it ends. Raises NotInGroup, LastOwner."""
    before = role_of(user.pk, group.pk)
    if before is None:
        raise NotInGroup
    if needs_owner and before is Role.OWNER and not owners_of(group.pk).exclude(pk=user.pk).exists():
        raise LastOwner(user, group)
    return before


def _store(user: User, group: Group, role: Role) -> None:
    if role is Role.MEMBER:
        Membership.objects.filter(user=user, group=group).delete()
    else:
        Membership.objects.update_or_create(user=user, group=group, defaults={"role": role})


def _told(group: Group, role: str) -> dict[str, str]:
    return {"group": group.name, "role": str(role)}
