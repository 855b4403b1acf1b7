"""Operations by which operators stop all members of a group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from webapp.api.identity.people import STOP, StopBody, Stopped, checked_reason
from webapp.api.operators import checked_operator
from webapp.api.usage.limits import check_rank
from webapp.ground.audit.log import record
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.ground.gateway.structs import Result
from webapp.lifecycle.admission import lock_user
from webapp.lifecycle.stop import stop_all as stop_requests
from webapp.requests.models import Request
from webapp.surfaces.runs.advance import stop_all as stop_sets
from webapp.surfaces.runs.advance import unfinished
from webapp.usage.limits import rules

MAX_NAMED = 12


class StopPreview(Result):
    """The members whom the stop of a group concerns."""

    num_users: int
    users: list[str]
    """At most 12 names: those with open requests first."""
    num_requests: int
    """Open requests, which the stop ends."""
    num_sets: int
    """Sets of runs with runs to come, which the stop ends."""


def preview_group_stop(request: HttpRequest, group_id: int) -> StopPreview:
    """Show whom the stop of a group concerns; stops nothing. 403 `forbidden` where the stop would be refused."""
    group = _stoppable(request, group_id, "You cannot stop yourself.")
    members = dict(group.user_set.order_by("username").values_list("pk", "username"))
    open_by_user = list(_open(members).values_list("user_id", flat=True))
    first = sorted(members, key=lambda user: user not in open_by_user)
    return StopPreview(
        num_users=len(members),
        users=[members[user] for user in first[:MAX_NAMED]],
        num_requests=len(open_by_user),
        num_sets=unfinished().filter(user__in=members).count(),
    )


def stop_group(request: HttpRequest, group_id: int, body: StopBody) -> Stopped:
    """Stop all members now: sending is blocked, and open requests and sets of runs stop. 403 `forbidden`."""
    group = _stoppable(request, group_id, "You cannot stop yourself.")
    members = _set_stopped(group, True, checked_reason(body))
    num_sets = sum(stop_sets(user) for user in _users_of(unfinished().filter(user__in=members)))
    num_requests = sum(stop_requests(user) for user in _users_of(_open(members)))
    stopped = Stopped(num_requests=num_requests, num_sets=num_sets)
    after = {"stopped requests": stopped.num_requests, "stopped sets of runs": num_sets}
    record(group, "stopped the requests of", {}, after, checked_reason(body))
    return stopped


def resume_group(request: HttpRequest, group_id: int, body: StopBody) -> None:
    """Let the members of a stopped group send again. A member's own stop holds on. 403 `forbidden`."""
    group = _stoppable(request, group_id, "You cannot end your own stop.")
    _set_stopped(group, False, checked_reason(body))


def _set_stopped(group: Group, is_stopped: bool, reason: str) -> list[int]:
    """Return the members. Under their locks: a request that is admitted before it commits is seen by what follows."""
    with transaction.atomic():
        members = list(group.user_set.order_by("pk").values_list("pk", flat=True))
        for user in members:
            lock_user(user)
        rule, before = rules.change(group, is_stopped=is_stopped, stop_reason=reason if is_stopped else "")
        action = "stopped the sending of" if is_stopped else "allowed the sending of"
        record(group, action, {"is_stopped": before["is_stopped"]}, {"is_stopped": rule.is_stopped}, reason)
    return members


def _open(members: Iterable[int]) -> QuerySet[Request]:
    return Request.objects.filter(user__in=members, finished_at=None)


def _users_of(rows: QuerySet[Any]) -> list[int]:
    return sorted(set(rows.values_list("user_id", flat=True)))


def _stoppable(request: HttpRequest, group_id: int, refusal: str) -> Group:
    """The group that the operator may stop and let go on: the same rules as for each of its members. Raises ApiError.

    refusal: the words where the operator is a member.
    """
    operator = checked_operator(request, STOP, "Only operators with the permission to stop users do so.")
    group = find_group(group_id)
    if group.user_set.filter(pk=operator.pk).exists():
        raise ApiError(403, "forbidden", f"{refusal} You are in {group.name}. Ask another operator.")
    for member in group.user_set.filter(is_superuser=True)[:1]:
        check_rank(operator, member)
    return group


def find_group(group_id: int) -> Group:
    """Raises ApiError."""
    found = Group.objects.filter(pk=group_id).first()
    if found is None:
        raise not_found("group")
    return found
