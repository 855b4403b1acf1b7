"""Operations by which people of a group see its usage. Each one checks the role.

Owners see the people and their keys. Members and viewers see the sums of all, without a name, and no list of requests.
"""

from __future__ import annotations

from typing import Literal, cast

import msgspec
from django.contrib.auth.models import Group, User
from django.http import HttpRequest

from webapp.api.operators import signed_in_user
from webapp.api.usage.findings import findings_of
from webapp.api.usage.usage import (
    MembersUsageQuery,
    MembersUsedRequestsQuery,
    asked_filter,
    period_of,
    reader_of,
)
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.ground.gateway.structs import Result
from webapp.identity.accounts.models import Role
from webapp.identity.accounts.roles import Place, places_of, workers_of
from webapp.usage.findings.find import Findings
from webapp.usage.findings.reading import Records
from webapp.usage.listing import Reader, Slot, UsedRequestList, listing
from webapp.usage.report import Names, UsageReport, report

RoleName = Literal["owner", "member", "viewer"]
_OWNERS_SEE = "Only an owner of the group sees what its people did one by one. Ask an owner."


class OwnGroup(Result):
    """A group of the user."""

    id: int
    name: str
    num_users: int
    """People of the group, with its viewers."""
    role: RoleName
    """The user's own role."""


class OwnGroups(Result):
    """The user's groups, by name."""

    groups: list[OwnGroup]


def list_own_groups(request: HttpRequest) -> OwnGroups:
    """List the user's groups, whose usage the user may see."""
    return OwnGroups([_own(place) for place in places_of(signed_in_user(request))])


def show_group_usage(request: HttpRequest, group_id: int, query: MembersUsageQuery) -> UsageReport:
    """Show the usage of a group's present people, for these. Only owners see names: 403 `forbidden` by user."""
    group, role = group_of_own(request, group_id)
    workers = _workers(group)
    if role is Role.OWNER:
        chosen = asked_filter(query, _chosen(workers, query.user))
        return report(period_of(query), chosen, query.by, workers)
    if query.by == "user" or query.user is not None:
        raise ApiError(403, "forbidden", _OWNERS_SEE)
    found = report(period_of(query), asked_filter(query, tuple(workers.users)), query.by, workers)
    return msgspec.structs.replace(found, users=[], leaders=[])


def list_group_used_requests(request: HttpRequest, group_id: int, query: MembersUsedRequestsQuery) -> UsedRequestList:
    """List the first 50 requests behind the usage of a group, without their texts. 403 `forbidden` but for owners."""
    workers = workers_of_owned(request, group_id)
    chosen = asked_filter(query, _chosen(workers, query.user))
    slot, reader = Slot(query.weekday, query.hour), _reader(request)
    return listing(period_of(query), chosen, slot, query.order, workers.users, reader)


def show_group_findings(request: HttpRequest, group_id: int, query: MembersUsageQuery) -> Findings:
    """Show what stands out in the usage of a group. 403 `forbidden` but for owners."""
    workers = workers_of_owned(request, group_id)
    chosen = asked_filter(query, _chosen(workers, query.user))
    return findings_of(query, chosen, Records(chosen, workers.users, _reader(request), is_own=False))


def workers_of_owned(request: HttpRequest, group_id: int) -> Names:
    """The owners and members of a group, by name. Raises ApiError unless the user owns it."""
    return _workers(owned_group(request, group_id, _OWNERS_SEE))


def owned_group(request: HttpRequest, group_id: int, refusal: str) -> Group:
    """A group of which the user is an owner. Raises ApiError: 404 for a foreign one, 403 with these words else."""
    group, role = group_of_own(request, group_id)
    if role is not Role.OWNER:
        raise ApiError(403, "forbidden", refusal)
    return group


def group_of_own(request: HttpRequest, group_id: int) -> tuple[Group, Role]:
    """A group of the user, and the user's role in it. Raises ApiError."""
    found = next((each for each in places_of(signed_in_user(request)) if each.group.pk == group_id), None)
    if found is None:
        raise not_found("group")
    return found.group, found.role


def role_name(role: str) -> RoleName:
    """A role as the API names it."""
    return cast(RoleName, str(role))


def _own(place: Place) -> OwnGroup:
    return OwnGroup(place.group.pk, place.group.name, place.group.user_set.count(), role_name(place.role))


def _workers(group: Group) -> Names:
    """The people whose requests are tied to the group. Their other groups stay unknown here."""
    users = dict(workers_of(group.pk).values_list("pk", "username"))
    return Names(users, {user: [group.name] for user in users})


def _chosen(workers: Names, user: int | None) -> tuple[int, ...]:
    return tuple(each for each in workers.users if user is None or each == user)


def _reader(request: HttpRequest) -> Reader:
    """Owners read no trace of others. An operator among them does so on the desk, which is for staff."""
    owner: User = signed_in_user(request)
    return reader_of(owner) if owner.is_staff else Reader(owner.pk)
