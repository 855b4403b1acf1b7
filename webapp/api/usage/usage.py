"""Operations that show usage: a user's own, and for operators that of all users."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.utils import timezone
from msgspec import Meta

from webapp.api.operators import checked_operator, signed_in_user
from webapp.api.requests.requests import READ_ANY
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.structs import Query, Result
from webapp.identity.accounts.roles import viewed_pairs, workers_of
from webapp.usage.listing import Order, Reader, Slot, UsedRequestList, listing
from webapp.usage.period import BadPeriod, Period
from webapp.usage.report import By, Names, UsageFigures, UsageReport, figures_by_model, report
from webapp.usage.sums import Filter

_USUAL_DAYS = 30
PERMISSION = "usage.view_usagerecord"
"""Allows an operator to see the usage of all users."""


class PeriodQuery(Query):
    """A period of days."""

    first: date | None = None
    """Default: 29 days before `last`."""
    last: date | None = None
    """The last day, included. Default: today."""
    zone: str = "UTC"
    """IANA name of the time zone whose days are counted, such as Europe/Berlin."""


class UsageQuery(PeriodQuery):
    """A period and a choice of requests."""

    by: By = "model"
    """Column by which the chart is stacked."""
    model: str = ""
    surface: str = ""
    status: str = ""
    code: str = ""
    """Cause of a failure or refusal."""
    verdict: str = ""
    """The worst verdict of the safety checks: allow, flag, rewrite or block."""


class MembersUsageQuery(UsageQuery):
    """A period and a choice of requests of several users."""

    user: int | None = None
    """Id of a user."""


class AllUsageQuery(MembersUsageQuery):
    """A period and a choice of requests of all users."""

    group: str = ""
    """Name of a group of users."""


class ModelUse(Result):
    """The requests to one model."""

    model: str
    now: UsageFigures


class UserModels(Result):
    """The models of one user, and those of all chosen users."""

    own: list[ModelUse]
    all: list[ModelUse]


class UsedRequestsQuery(UsageQuery):
    """A period, a choice of requests and their order."""

    order: Order = "newest"
    """The newest first, or those with the highest cost, time to the first token, input or output."""
    weekday: Annotated[int, Meta(ge=0, le=6)] | None = None
    """Only this day of the week in `zone`; 0 is Monday."""
    hour: Annotated[int, Meta(ge=0, le=23)] | None = None
    """Only this hour of the day in `zone`."""


class MembersUsedRequestsQuery(UsedRequestsQuery):
    """A period, a choice of requests of several users and their order."""

    user: int | None = None
    """Id of a user."""


class AllUsedRequestsQuery(MembersUsedRequestsQuery):
    """A period, a choice of requests of all users and their order."""

    group: str = ""
    """Name of a group of users."""


def show_own_usage(request: HttpRequest, query: UsageQuery) -> UsageReport:
    """Show the user's own usage of a period. 400 `invalid` where the period or the zone is none."""
    owner = signed_in_user(request)
    chosen = asked_filter(query, (owner.pk,))
    return report(period_of(query), chosen, query.by, Names({owner.pk: owner.username}, group_names_of([owner.pk])))


def list_own_used_requests(request: HttpRequest, query: UsedRequestsQuery) -> UsedRequestList:
    """List the first 50 requests behind the user's own usage of a period."""
    owner = signed_in_user(request)
    chosen = asked_filter(query, (owner.pk,))
    return listing(
        period_of(query),
        chosen,
        Slot(query.weekday, query.hour),
        query.order,
        {owner.pk: owner.username},
        Reader(owner.pk),
    )


def list_all_used_requests(request: HttpRequest, query: AllUsedRequestsQuery) -> UsedRequestList:
    """List the first 50 requests behind the usage of all users, without their texts. 403 `forbidden`."""
    reader = checked_reader(request)
    chosen = asked_filter(query, chosen_users(query))
    names = dict(User.objects.values_list("pk", "username"))
    reading = reader_of(reader)
    return listing(period_of(query), chosen, Slot(query.weekday, query.hour), query.order, names, reading)


def show_all_usage(request: HttpRequest, query: AllUsageQuery) -> UsageReport:
    """Show the usage of all users, for operators. 403 `forbidden` without the permission to view usage records."""
    checked_reader(request)
    chosen = asked_filter(query, chosen_users(query))
    users = dict(User.objects.values_list("pk", "username"))
    return report(period_of(query), chosen, query.by, Names(users, group_names_of(users)))


def show_user_models(request: HttpRequest, target_id: int, query: AllUsageQuery) -> UserModels:
    """Show the models of one user beside those of all chosen users, for operators. 403 `forbidden`."""
    checked_reader(request)
    period, chosen = period_of(query), asked_filter(query, chosen_users(query))
    own = figures_by_model(period, replace(chosen, user_ids=(target_id,)))
    return UserModels(_model_uses(own), _model_uses(figures_by_model(period, chosen)))


def _model_uses(found: dict[str, UsageFigures]) -> list[ModelUse]:
    return [ModelUse(model, figures) for model, figures in sorted(found.items())]


def checked_reader(request: HttpRequest) -> User:
    """The signed-in operator who may see the usage of all users. Raises ApiError."""
    return checked_operator(request, PERMISSION, "Only operators see the usage of all users.")


def reader_of(operator: User) -> Reader:
    """The operator as the reader of a list of requests."""
    return Reader(operator.pk, operator.has_perm(READ_ANY), operator.is_superuser)


def asked_filter(query: UsageQuery, user_ids: tuple[int, ...] | None) -> Filter:
    """The requests of a query."""
    return Filter(query.model, query.surface, user_ids, query.status, query.code, query.verdict)


def chosen_users(query: AllUsageQuery | AllUsedRequestsQuery) -> tuple[int, ...] | None:
    """None: all users."""
    users = User.objects.all()
    if query.user is not None:
        users = users.filter(pk=query.user)
    if query.group:
        if not Group.objects.filter(name=query.group).exists():
            raise ApiError(400, "invalid", f"There is no group {query.group!r}.", "group")
        users = users.filter(pk__in=workers_of(Group.objects.get(name=query.group).pk))
    return None if query.user is None and not query.group else tuple(users.values_list("pk", flat=True))


def group_names_of(users: Iterable[int], with_viewed: bool = False) -> dict[int, list[str]]:
    """The groups to which each user's requests are tied. with_viewed: also those that the user only views."""
    names = defaultdict[int, list[str]](list)
    viewed = set() if with_viewed else viewed_pairs()
    rows = User.groups.through.objects.filter(user_id__in=list(users)).order_by("group__name")
    for pk, group, name in rows.values_list("user_id", "group_id", "group__name"):
        if (pk, group) not in viewed:
            names[pk].append(name)
    return names


def period_of(query: PeriodQuery) -> Period:
    zone = _zone(query.zone)
    last = query.last or timezone.now().astimezone(zone).date()
    try:
        first = query.first or last - timedelta(days=_USUAL_DAYS - 1)
        period = Period(first, last, zone)
        period.before()
    except (BadPeriod, OverflowError) as error:
        raise ApiError(400, "invalid", str(error), "first") from None
    return period


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # an unknown name, or one that is no name at all
        message = f"zone must be the name of a time zone, such as Europe/Berlin, not {name!r}."
        raise ApiError(400, "invalid", message, "zone") from None
