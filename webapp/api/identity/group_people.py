"""Operations on the people of a group and their roles: for its owners, and for operators in any group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import Group, User
from django.http import HttpRequest

from webapp.api.identity.groups import find_group
from webapp.api.operators import signed_in_user
from webapp.api.usage.group_usage import RoleName, owned_group, role_name
from webapp.api.usage.limits import check_rank
from webapp.api.usage.usage import PERMISSION as READ
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Result
from webapp.identity.accounts import role_changes
from webapp.identity.accounts.models import Invitation, Role
from webapp.identity.accounts.role_changes import CannotInvite, LastOwner, NoInvitation, NotInGroup
from webapp.identity.accounts.roles import Place, people_of
from webapp.usage.limits.rules import rule_of
from webapp.usage.limits.window import is_within

CHANGE_ROLES = "accounts.change_membership"
MAX_TRIES = 60
"""Invitations that one user tries in an hour: an invitation tells whether there is an account of a name."""
_HOUR_S = 3600
_OWNERS_CHANGE = "Only an owner of the group sees and changes its people. Ask an owner."


class InvitationBody(Body):
    """The user to invite."""

    name: str
    """The user's name."""
    role: RoleName = "member"
    """The role that the user has once the invitation is accepted."""


class RoleBody(Body):
    """A role in a group."""

    role: RoleName


class GroupPerson(Result):
    """A user in a group."""

    id: int
    name: str
    role: RoleName
    is_active: bool
    """False: the account is closed."""


class InvitedPerson(Result):
    """A user who has not accepted yet."""

    id: int
    """The invitation's id."""
    name: str
    role: RoleName
    invited_by: str | None
    """Null: that account is gone."""
    invited_at: datetime


class GroupPeople(Result):
    """The people of a group: owners first, then members and viewers, by name."""

    name: str
    """The group's."""
    people: list[GroupPerson]
    invited: list[InvitedPerson]
    """Open invitations, the oldest first."""


def list_group_people(request: HttpRequest, group_id: int) -> GroupPeople:
    """List the people of a group and its open invitations. 403 `forbidden` but for owners and operators."""
    return _listed(_managed(request, group_id).group)


@answers(201)
def invite_person(request: HttpRequest, group_id: int, body: InvitationBody) -> GroupPeople:
    """Invite a user by name. A second invitation replaces the first. 409 `in_group`; 429 `too_many`."""
    manager = _changing(request, group_id)
    if not is_within("invite", manager.user.pk, MAX_TRIES, _HOUR_S):
        message = f"At most {MAX_TRIES} invitations in an hour. Try again later."
        raise ApiError(429, "too_many", message, retry_after_s=_HOUR_S)
    with _refusals():
        role_changes.invite(manager.group, _invited(body.name), Role(body.role), manager.user)
    return _listed(manager.group)


def withdraw_invitation(request: HttpRequest, group_id: int, invitation_id: int) -> GroupPeople:
    """Withdraw an open invitation. 404 where it was answered."""
    manager = _changing(request, group_id)
    found = Invitation.objects.filter(pk=invitation_id, group=manager.group).first()
    if found is None:
        raise not_found("invitation")
    with _refusals():
        role_changes.withdraw(found)
    return _listed(manager.group)


def change_person_role(request: HttpRequest, group_id: int, target_id: int, body: RoleBody) -> GroupPeople:
    """Change a person's role, at once. 409 `last_owner`: a group keeps an owner, unless an operator changes it."""
    manager = _changing(request, group_id)
    with _refusals():
        role_changes.change_role(manager.group, _person(manager, target_id), Role(body.role), not manager.is_operator)
    return _listed(manager.group)


def remove_person(request: HttpRequest, group_id: int, target_id: int) -> GroupPeople:
    """Remove a person from a group, at once. 409 `last_owner`, as for a change of the role."""
    manager = _changing(request, group_id)
    with _refusals():
        role_changes.leave(manager.group, _person(manager, target_id), not manager.is_operator)
    return _listed(manager.group)


@dataclass(frozen=True)
class _Manager:
    """The user who manages a group."""

    user: User
    group: Group
    is_operator: bool


def check_not_stopped(group: Group) -> None:
    """Raises ApiError where an operator has stopped the group: its people would else escape the stop."""
    if rule_of(group).is_stopped:
        message = f"An operator has stopped {group.name}. Its people stay as they are until the operator undoes it."
        raise ApiError(409, "group_stopped", message)


def last_owner(error: LastOwner) -> ApiError:
    return ApiError(409, "last_owner", str(error))


def _managed(request: HttpRequest, group_id: int) -> _Manager:
    """Raises ApiError: 404 for a foreign group, 403 for one's own without the role."""
    user = signed_in_user(request)
    if user.has_perms((READ, CHANGE_ROLES)):
        return _Manager(user, find_group(group_id), is_operator=True)
    return _Manager(user, owned_group(request, group_id, _OWNERS_CHANGE), is_operator=False)


def _changing(request: HttpRequest, group_id: int) -> _Manager:
    """As `_managed`, for a change. Raises ApiError."""
    manager = _managed(request, group_id)
    if not manager.is_operator:
        check_not_stopped(manager.group)
    return manager


def _person(manager: _Manager, target_id: int) -> User:
    """Raises ApiError where the user is not in the group, or is above the operator."""
    found = User.objects.filter(pk=target_id, groups=manager.group).first()
    if found is None:
        raise not_found("person in the group")
    if manager.is_operator:
        check_rank(manager.user, found)
    return found


def _invited(name: str) -> User:
    # PostgreSQL accepts no NUL, not even in a lookup.
    found = None if "\x00" in name else User.objects.filter(username=name, is_active=True).first()
    if found is None:
        raise ApiError(400, "invalid", f"There is no open account {name[:150]!r}. Check the spelling.", "name")
    return found


@contextmanager
def _refusals() -> Iterator[None]:
    """Raises ApiError in place of what refuses a change."""
    try:
        yield
    except LastOwner as error:
        raise last_owner(error) from None
    except CannotInvite as error:
        raise ApiError(409, "in_group", str(error), "name") from None
    except NoInvitation:
        raise not_found("invitation") from None
    except NotInGroup:
        raise not_found("person in the group") from None


def _listed(group: Group) -> GroupPeople:
    people = [_person_shown(place) for place in people_of(group)]
    rows = Invitation.objects.filter(group=group).select_related("user", "invited_by").order_by("invited_at", "pk")
    return GroupPeople(name=group.name, people=people, invited=[_shown(row) for row in rows])


def _shown(row: Invitation) -> InvitedPerson:
    return InvitedPerson(row.pk, row.user.get_username(), role_name(row.role), inviter_of(row), row.invited_at)


def _person_shown(place: Place) -> GroupPerson:
    return GroupPerson(place.user.pk, place.user.get_username(), role_name(place.role), place.user.is_active)


def inviter_of(invitation: Invitation) -> str | None:
    """The name of the user who invites. None: that account is gone."""
    return None if invitation.invited_by is None else invitation.invited_by.get_username()
