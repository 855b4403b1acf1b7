"""Operations by which an owner of a group sees the usage of its members. Each one checks the ownership."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.http import HttpRequest

from webapp.accounts.owners import owned_by
from webapp.api.findings import findings_of
from webapp.api.operators import signed_in_user
from webapp.api.usage import (
    MembersUsageQuery,
    MembersUsedRequestsQuery,
    asked_filter,
    period_of,
    reader_of,
)
from webapp.findings.find import Findings
from webapp.findings.reading import Records
from webapp.gateway.errors import ApiError, user_id
from webapp.gateway.structs import Result
from webapp.usage.listing import Reader, Slot, UsedRequestList, listing
from webapp.usage.report import Names, UsageReport, report


class OwnedGroup(Result):
    """A group of which the user is an owner."""

    id: int
    name: str
    num_users: int


class OwnedGroups(Result):
    """The groups of which the user is an owner, by name."""

    groups: list[OwnedGroup]


def list_owned_groups(request: HttpRequest) -> OwnedGroups:
    """List the groups whose usage the user may see."""
    groups = owned_by(user_id(request))
    return OwnedGroups([OwnedGroup(group.pk, group.name, group.user_set.count()) for group in groups])


def show_group_usage(request: HttpRequest, group_id: int, query: MembersUsageQuery) -> UsageReport:
    """Show the usage of a group's present members, for its owners. 403 `forbidden`."""
    members = members_of_owned(request, group_id)
    chosen = asked_filter(query, _chosen(members, query.user))
    return report(period_of(query), chosen, query.by, members)


def list_group_used_requests(request: HttpRequest, group_id: int, query: MembersUsedRequestsQuery) -> UsedRequestList:
    """List the first 50 requests behind the usage of a group, without their texts. 403 `forbidden`."""
    members = members_of_owned(request, group_id)
    chosen = asked_filter(query, _chosen(members, query.user))
    slot, reader = Slot(query.weekday, query.hour), _reader(request)
    return listing(period_of(query), chosen, slot, query.order, members.users, reader)


def show_group_findings(request: HttpRequest, group_id: int, query: MembersUsageQuery) -> Findings:
    """Show what stands out in the usage of a group, for its owners. 403 `forbidden`."""
    members = members_of_owned(request, group_id)
    chosen = asked_filter(query, _chosen(members, query.user))
    return findings_of(query, chosen, Records(chosen, members.users, _reader(request), is_own=False))


def members_of_owned(request: HttpRequest, group_id: int) -> Names:
    """The present members of a group, by name. Raises ApiError where the user does not own it."""
    return _members(_owned(request, group_id))


def _owned(request: HttpRequest, group_id: int) -> Group:
    """Raises ApiError, which does not tell whether there is such a group."""
    found = owned_by(user_id(request)).filter(pk=group_id).first()
    if found is None:
        message = "Only an owner of the group sees its usage. Ask an operator to name you as an owner."
        raise ApiError(403, "forbidden", message)
    return found


def _members(group: Group) -> Names:
    """The members by name. Their other groups stay unknown to the owner."""
    users = dict(group.user_set.values_list("pk", "username"))
    return Names(users, {user: [group.name] for user in users})


def _chosen(members: Names, user: int | None) -> tuple[int, ...]:
    return tuple(each for each in members.users if user is None or each == user)


def _reader(request: HttpRequest) -> Reader:
    """Owners read no trace of others. An operator among them does so on the desk, which is for staff."""
    owner: User = signed_in_user(request)
    return reader_of(owner) if owner.is_staff else Reader(owner.pk)
