"""Operations on users and groups, for operators: their use, one user's state, and the stop of a user."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set as AbstractSet
from datetime import datetime

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from msgspec import structs
from redis.exceptions import RedisError

from webapp.api.operators import checked_operator
from webapp.api.usage.limits import LimitsInForce, RuleValues, check_rank, find_user, in_force, values_of
from webapp.api.usage.usage import PERMISSION, PeriodQuery, group_names_of, period_of, reader_of
from webapp.ground.audit.log import record
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.structs import Body, Result
from webapp.identity.accounts.owners import owners_by_group
from webapp.identity.accounts.roles import viewed_pairs, views_only_of
from webapp.lifecycle.admission import lock_user
from webapp.lifecycle.stop import stop_all as stop_requests
from webapp.operations.privacy.block import is_erased
from webapp.requests.models import Request
from webapp.surfaces.runs.advance import stop_all as stop_sets
from webapp.usage.limits import rules
from webapp.usage.limits.models import Rule
from webapp.usage.limits.room import room_of
from webapp.usage.limits.taking import levels_of
from webapp.usage.listing import Slot, UsedRequest, listing
from webapp.usage.models import UsageRecord
from webapp.usage.report import UsageFigures, figures_by_user, joined
from webapp.usage.sums import Filter

STOP = "limits.stop_user"
MAX_LISTED = 100
_MAX_REASON_CHARS = 300


class PeopleQuery(PeriodQuery):
    """A period, and a choice of users."""

    text: str = ""
    """A part of the name of a user or of a group. Default: all."""


class Person(Result):
    """A user and their use of a period."""

    id: int
    name: str
    groups: list[str]
    is_active: bool
    """False: the account is closed."""
    is_superuser: bool
    views_only: bool
    """The user is a viewer in each of the own groups, and begins no work."""
    is_stopped: bool
    """An operator has stopped the user's sending."""
    stopped_groups: list[str]
    """Groups of the user whose sending is stopped."""
    has_own_limits: bool
    last_seen: datetime | None
    """Arrival of the user's last request; null: none is recorded."""
    use: UsageFigures


class GroupOwner(Result):
    """A user who sees the usage of the group's members."""

    id: int
    name: str


class PersonGroup(Result):
    """A group and its members' use of a period."""

    id: int
    name: str
    num_users: int
    """People of the group, with its viewers, whose use is not the group's."""
    owners: list[GroupOwner]
    is_stopped: bool
    """An operator has stopped the sending of all members."""
    stop_reason: str
    """Shown to the members; may be empty."""
    limits: RuleValues
    use: UsageFigures


class People(Result):
    """Users and groups: those with the most requests first."""

    users: list[Person]
    """At most 100."""
    num_users: int
    """Users that match, also those that are not listed."""
    groups: list[PersonGroup]
    site_limits: RuleValues
    """Limits of users for whom no other rule decides."""


class PersonState(Result):
    """One user: what the user may do, does now, and did."""

    person: Person
    is_erased: bool
    """An erasure, begun or done, keeps the account closed."""
    email: str
    joined_at: datetime
    stop_reason: str | None
    """Shown to the user; null: the user may send."""
    limits: LimitsInForce
    own_limits: RuleValues
    num_open: int
    """Requests that are open now."""
    left_this_minute: int | None
    """Requests that the rates allow now; null: there is no rate, or Redis cannot be reached."""
    tokens_today: int | None
    """Tokens of today in UTC; null: they have no limit."""
    requests: list[UsedRequest]
    """The newest of the period."""


class StopBody(Body):
    """The operator's reason."""

    reason: str = ""
    """Shown to the user where the user is stopped; at most 300 characters."""


class Stopped(Result):
    """A user's sending is stopped."""

    num_requests: int
    """Open requests that were stopped."""
    num_sets: int
    """Sets of runs that were stopped."""


def list_people(request: HttpRequest, query: PeopleQuery) -> People:
    """List users and groups with their use of a period. 403 `forbidden`."""
    _check_reader(request)
    used = figures_by_user(period_of(query), Filter())
    members, owners, viewed = _members(), owners_by_group(), viewed_pairs()
    users = _with_text(User.objects.all(), query.text)
    order = sorted(users.values_list("pk", "username"), key=lambda row: (-_num(used, row[0]), row[1]))
    return People(
        users=_people([pk for pk, _ in order[:MAX_LISTED]], used),
        num_users=len(order),
        groups=[
            _group(group, members[group.pk], owners.get(group.pk, []), _uses_for(group, used, viewed))
            for group in Group.objects.order_by("name")
        ],
        site_limits=values_of(rules.rule_of(None)),
    )


def show_person(request: HttpRequest, target_id: int, query: PeriodQuery) -> PersonState:
    """Show one user's use, limits, open requests and last requests. 403 `forbidden`."""
    reader, found, period = _check_reader(request), find_user(target_id), period_of(query)
    chosen = Filter(user_ids=(found.pk,))
    effective = rules.effective_of(found.pk)
    room = room_of(found.pk, model="", key_id=None)
    reading = reader_of(reader)
    listed = listing(period, chosen, Slot(), "newest", {found.pk: found.username}, reading)
    return PersonState(
        person=_people([found.pk], figures_by_user(period, chosen))[0],
        is_erased=is_erased(found),
        email=found.email,
        joined_at=found.date_joined,
        stop_reason=effective.stop_reason,
        limits=in_force(effective),
        own_limits=values_of(rules.rule_of(found)),
        num_open=Request.objects.filter(user_id=found.pk, finished_at=None).count(),
        left_this_minute=_left_this_minute(found.pk),
        tokens_today=next((day.used for day in room.days if day.subject == "user"), None),
        requests=listed.requests,
    )


def _left_this_minute(user_id: int) -> int | None:
    try:
        levels = levels_of(user_id, model="", key_id=None)
    except RedisError:
        return None
    return min((limit.remaining for limit in levels if limit.name == "requests"), default=None)


def stop_person(request: HttpRequest, target_id: int, body: StopBody) -> Stopped:
    """Stop a user now: sending is blocked, and all open requests and sets of runs stop. 403 `forbidden`."""
    found = _stoppable(request, target_id, "You cannot stop yourself.")
    _set_stopped(found, True, checked_reason(body))
    num_sets = stop_sets(found.pk)
    stopped = Stopped(num_requests=stop_requests(found.pk), num_sets=num_sets)
    after = {"stopped requests": stopped.num_requests, "stopped sets of runs": num_sets}
    record(found, "stopped the requests of", {}, after, checked_reason(body))
    return stopped


def resume_person(request: HttpRequest, target_id: int, body: StopBody) -> None:
    """Let a stopped user send again. Stopped requests stay stopped. 403 `forbidden`."""
    found = _stoppable(request, target_id, "You cannot end your own stop.")
    _set_stopped(found, False, checked_reason(body))


def _set_stopped(found: User, is_stopped: bool, reason: str) -> None:
    """Under the user's lock: a request that is admitted before it commits is seen by the stop that follows."""
    with transaction.atomic():
        lock_user(found.pk)
        shown = reason if is_stopped else ""
        rule, before = rules.change(found, is_stopped=is_stopped, stop_reason=shown)
        action = "stopped the sending of" if is_stopped else "allowed the sending of"
        record(found, action, {"is_stopped": before["is_stopped"]}, {"is_stopped": rule.is_stopped}, reason)


def _check_reader(request: HttpRequest) -> User:
    return checked_operator(request, PERMISSION, "Only operators see users and their use.")


def _stoppable(request: HttpRequest, target_id: int, refusal: str) -> User:
    """The user whom the operator may stop and let go on. Raises ApiError.

    refusal: the words where it is the operator.
    """
    operator = checked_operator(request, STOP, "Only operators with the permission to stop users do so.")
    found = find_user(target_id)
    if operator.pk == found.pk:
        raise ApiError(403, "forbidden", f"{refusal} Ask another operator.")
    check_rank(operator, found)
    return found


def checked_reason(body: StopBody) -> str:
    """The operator's reason in one line. Raises ApiError."""
    reason = " ".join(body.reason.split())
    if len(reason) > _MAX_REASON_CHARS or not reason.isprintable():
        message = f"The reason has at most {_MAX_REASON_CHARS} printable characters. Shorten it."
        raise ApiError(400, "invalid", message, "reason")
    return reason


def _with_text(users: QuerySet[User], text: str) -> QuerySet[User]:
    if not text:
        return users
    return (users.filter(username__icontains=text) | users.filter(groups__name__icontains=text)).distinct()


def _num(used: dict[int, UsageFigures], user_id: int) -> int:
    return used[user_id].num_requests if user_id in used else 0


def _people(ids: list[int], used: dict[int, UsageFigures]) -> list[Person]:
    last = UsageRecord.objects.filter(user_id=OuterRef("pk")).order_by("-accepted_at").values("accepted_at")[:1]
    rows = User.objects.filter(pk__in=ids).annotate(last_seen=Subquery(last))
    own = {rule.user_id: rule for rule in Rule.objects.filter(user_id__in=ids)}
    groups, found, viewers = group_names_of(ids, with_viewed=True), {row.pk: row for row in rows}, views_only_of(ids)
    stopped = set(Rule.objects.filter(is_stopped=True).exclude(group=None).values_list("group__name", flat=True))
    people = [_person(found[pk], groups.get(pk, []), stopped, own.get(pk), used) for pk in ids]
    return [structs.replace(each, views_only=each.id in viewers) for each in people]


def _person(
    row: User, groups: list[str], stopped: AbstractSet[str], own: Rule | None, used: dict[int, UsageFigures]
) -> Person:
    return Person(
        id=row.pk,
        name=row.username,
        groups=groups,
        is_active=row.is_active,
        is_superuser=row.is_superuser,
        views_only=False,
        is_stopped=own is not None and own.is_stopped,
        stopped_groups=[name for name in groups if name in stopped],
        has_own_limits=own is not None and rules.values_of(own).is_limiting,
        last_seen=getattr(row, "last_seen", None),
        use=used.get(row.pk) or joined([]),
    )


def _members() -> dict[int, list[int]]:
    """The people of each group."""
    members = defaultdict[int, list[int]](list)
    for group, user in User.groups.through.objects.values_list("group_id", "user_id"):
        members[group].append(user)
    return members


def _uses_for(
    group: Group, used: dict[int, UsageFigures], viewed: AbstractSet[tuple[int, int]]
) -> dict[int, UsageFigures]:
    """The use that is tied to the group: of all users but its viewers."""
    return {user: use for user, use in used.items() if (user, group.pk) not in viewed}


def _group(group: Group, members: list[int], owners: list[User], used: dict[int, UsageFigures]) -> PersonGroup:
    rule = rules.rule_of(group)
    return PersonGroup(
        id=group.pk,
        name=group.name,
        num_users=len(members),
        owners=[GroupOwner(each.pk, each.username) for each in owners],
        is_stopped=rule.is_stopped,
        stop_reason=rule.stop_reason,
        limits=values_of(rule),
        use=joined(used[user] for user in members if user in used),
    )
