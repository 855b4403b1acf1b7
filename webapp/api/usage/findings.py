"""Operations that show what stands out in a period: of the user's own usage, and for operators of all users'."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest

from webapp.api.operators import signed_in_user
from webapp.api.usage.usage import (
    AllUsageQuery,
    UsageQuery,
    asked_filter,
    checked_reader,
    chosen_users,
    period_of,
    reader_of,
)
from webapp.ground.gateway.errors import ApiError
from webapp.usage.findings.find import Findings, findings
from webapp.usage.findings.reading import Records
from webapp.usage.listing import Reader
from webapp.usage.period import BadPeriod
from webapp.usage.sums import Filter


def show_own_findings(request: HttpRequest, query: UsageQuery) -> Findings:
    """Show what stands out in the user's own usage. The days before the period tell what is usual."""
    owner = signed_in_user(request)
    chosen = asked_filter(query, (owner.pk,))
    return findings_of(query, chosen, Records(chosen, {owner.pk: owner.username}, Reader(owner.pk), is_own=True))


def show_all_findings(request: HttpRequest, query: AllUsageQuery) -> Findings:
    """Show what stands out in the usage of all users, for operators. 403 `forbidden` without the permission."""
    reader = checked_reader(request)
    chosen = asked_filter(query, chosen_users(query))
    names = dict(User.objects.values_list("pk", "username"))
    return findings_of(query, chosen, Records(chosen, names, reader_of(reader), is_own=False))


def findings_of(query: UsageQuery, chosen: Filter, evidence: Records) -> Findings:
    """What stands out in the requests of a query. Raises ApiError."""
    period = period_of(query)
    try:
        return findings(period, chosen, evidence)
    except (BadPeriod, OverflowError):
        raise ApiError(400, "invalid", "Findings need 35 days before the period. Choose later days.", "first") from None
