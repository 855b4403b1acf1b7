"""Operations that show usage by day, model and key: one's own, and that of a group."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from webapp.api.operators import signed_in_user
from webapp.api.usage.group_usage import group_of_own
from webapp.api.usage.usage import PeriodQuery, period_of
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Result
from webapp.identity.accounts.models import Role
from webapp.identity.accounts.roles import workers_of
from webapp.usage.daily import DayUse, Pace, as_csv, daily_use, pace
from webapp.usage.limits.rules import effective_of
from webapp.usage.limits.shared import shared_budget

_CSV = "text/csv"


class DailyUsage(Result):
    """Use by day, model and key, and the pace to the month's end."""

    days: list[DayUse]
    pace: list[Pace]


def show_daily_usage(request: HttpRequest, query: PeriodQuery) -> DailyUsage:
    """Show the user's own usage by day, model and key, with the pace to the month's end in UTC."""
    owner = signed_in_user(request).pk
    budget = effective_of(owner).monthly_budget_nano
    return DailyUsage(daily_use(period_of(query), [owner]), pace([owner], budget, timezone.now()))


@answers(200, media=_CSV)
def save_daily_usage(request: HttpRequest, query: PeriodQuery) -> HttpResponse:
    """Save the user's own usage by day, model and key as CSV."""
    return _file(daily_use(period_of(query), [signed_in_user(request).pk]))


def show_group_daily_usage(request: HttpRequest, group_id: int, query: PeriodQuery) -> DailyUsage:
    """Show a group's usage by day and model, for its people. Only owners see users and keys."""
    users, is_named = _group_readable(request, group_id)
    budget = shared_budget(group_id)
    return DailyUsage(daily_use(period_of(query), users, is_named), pace(users, budget, timezone.now()))


@answers(200, media=_CSV)
def save_group_daily_usage(request: HttpRequest, group_id: int, query: PeriodQuery) -> HttpResponse:
    """Save a group's usage by day and model as CSV, for its people. Only owners see users and keys."""
    return _file(daily_use(period_of(query), *_group_readable(request, group_id)))


def _group_readable(request: HttpRequest, group_id: int) -> tuple[list[int], bool]:
    """The users whose requests are tied to the group, and whether the reader sees their names. Raises ApiError."""
    group, role = group_of_own(request, group_id)
    return list(workers_of(group.pk).values_list("pk", flat=True)), role is Role.OWNER


def _file(rows: list[DayUse]) -> HttpResponse:
    response = HttpResponse(as_csv(rows), content_type=f"{_CSV}; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="sightglass-usage.csv"'
    return response
