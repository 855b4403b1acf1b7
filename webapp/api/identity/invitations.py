"""Operations on the user's own place in groups: invitations to answer, and departures."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.http import HttpRequest

from webapp.api.identity.group_people import check_not_stopped, inviter_of, last_owner
from webapp.api.operators import signed_in_user
from webapp.api.usage.group_usage import RoleName, group_of_own, role_name
from webapp.ground.gateway.errors import not_found, user_id
from webapp.ground.gateway.structs import Result
from webapp.identity.accounts import role_changes
from webapp.identity.accounts.models import Invitation, Role
from webapp.identity.accounts.role_changes import LastOwner, NoInvitation, NotInGroup
from webapp.identity.accounts.roles import roles_of


class OwnInvitation(Result):
    """An invitation of the user into a group."""

    id: int
    group: str
    """The group's name."""
    role: RoleName
    """The role that the user has in the group once it is accepted."""
    invited_by: str | None
    """Null: that account is gone."""
    invited_at: datetime
    ends_work: bool
    """Accepting it makes the user a viewer everywhere: the account then begins no work."""


class OwnInvitations(Result):
    """The user's open invitations, the oldest first."""

    invitations: list[OwnInvitation]


def list_own_invitations(request: HttpRequest) -> OwnInvitations:
    """List the invitations that the user may accept or decline."""
    user = user_id(request)
    works = any(role is not Role.VIEWER for role in roles_of(user).values())
    rows = Invitation.objects.filter(user_id=user).select_related("group", "invited_by").order_by("invited_at", "pk")
    return OwnInvitations([_shown(row, works) for row in rows])


def accept_invitation(request: HttpRequest, invitation_id: int) -> None:
    """Join the group in the invitation's role. 404 where it was withdrawn; 409 `group_stopped`."""
    found = _find(request, invitation_id)
    check_not_stopped(found.group)
    _answer(role_changes.accept, found)


def decline_invitation(request: HttpRequest, invitation_id: int) -> None:
    """End an invitation without joining. 404 where it was withdrawn."""
    _answer(role_changes.decline, _find(request, invitation_id))


def leave_group(request: HttpRequest, group_id: int) -> None:
    """Leave a group, at once. 409 `last_owner`, `group_stopped`."""
    group, _ = group_of_own(request, group_id)
    check_not_stopped(group)
    try:
        role_changes.leave(group, signed_in_user(request))
    except LastOwner as error:
        raise last_owner(error) from None
    except NotInGroup:
        raise not_found("group") from None


def _find(request: HttpRequest, invitation_id: int) -> Invitation:
    found = Invitation.objects.select_related("group").filter(pk=invitation_id, user_id=user_id(request)).first()
    if found is None:
        raise not_found("invitation")
    return found


def _answer(act: Callable[[Invitation], None], invitation: Invitation) -> None:
    try:
        act(invitation)
    except NoInvitation:
        raise not_found("invitation") from None


def _shown(row: Invitation, works: bool) -> OwnInvitation:
    """works: the user works for a group already."""
    return OwnInvitation(
        id=row.pk,
        group=row.group.name,
        role=role_name(row.role),
        invited_by=inviter_of(row),
        invited_at=row.invited_at,
        ends_work=row.role == Role.VIEWER and not works,
    )
