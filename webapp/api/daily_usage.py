"""Operations that show usage by day, model and key: one's own, and that of an owned group's members."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from webapp.api.group_usage import members_of_owned
from webapp.api.operators import signed_in_user
from webapp.api.usage import PeriodQuery, period_of
from webapp.gateway.operation import answers
from webapp.gateway.structs import Result
from webapp.limits.rules import effective_of
from webapp.limits.shared import shared_budget
from webapp.usage.daily import DayUse, Pace, as_csv, daily_use, pace

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
    """Show the usage of a group's present members by day, model and key, for its owners. 403 `forbidden`."""
    members = members_of_owned(request, group_id).users
    budget = shared_budget(group_id)
    return DailyUsage(daily_use(period_of(query), members), pace(members, budget, timezone.now()))


@answers(200, media=_CSV)
def save_group_daily_usage(request: HttpRequest, group_id: int, query: PeriodQuery) -> HttpResponse:
    """Save the usage of a group's present members as CSV, for its owners. 403 `forbidden`."""
    return _file(daily_use(period_of(query), members_of_owned(request, group_id).users))


def _file(rows: list[DayUse]) -> HttpResponse:
    response = HttpResponse(as_csv(rows), content_type=f"{_CSV}; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="sightglass-usage.csv"'
    return response
