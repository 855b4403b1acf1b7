"""Reads the tokens of a period by model and day of UTC, for `webapp.billing.reprice`. Knows nothing of prices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDay

from inference.protocol.request import Usage
from webapp.billing.book import KINDS
from webapp.billing.reprice import Used
from webapp.usage.models import UsageRecord, UsageSum
from webapp.usage.period import Period
from webapp.usage.sums import Filter

_WITH_TOKENS = Sum("num_requests", filter=~Q(currency=""), default=0) + Sum(
    "num_unpriced", filter=Q(currency=""), default=0
)
"""Requests that used a token. Without a currency a sum holds unpriced requests and such as used none."""


def used_in(period: Period, chosen: Filter) -> list[Used]:
    """The tokens of the chosen requests."""
    if chosen.columns.keys() <= set(UsageSum.GROUPED):
        rows = UsageSum.objects.filter(span=period.span, start__gte=period.start, start__lt=period.end)
        found = _by_day(rows.filter(**chosen.conditions()), "start", _WITH_TOKENS)
        return [_used(row) for row in found]
    return [_used(row) for row in _of_records(period, chosen)]


def used_by_user(period: Period, chosen: Filter) -> Mapping[int, list[Used]]:
    """The tokens of the chosen requests, by id of their user. Reads the records: no sum has both user and model."""
    users = defaultdict[int, list[Used]](list)
    for row in _of_records(period, chosen, "user_id"):
        users[row["user_id"]].append(_used(row))
    return users


def _of_records(period: Period, chosen: Filter, *columns: str) -> QuerySet[Any, dict[str, Any]]:
    records = UsageRecord.objects.filter(accepted_at__gte=period.start, accepted_at__lt=period.end)
    used = records.filter(**chosen.conditions()).exclude(price_version="")
    return _by_day(used, "accepted_at", Count("id"), *columns)


def _by_day(rows: Any, at: str, num: Any, *columns: str) -> QuerySet[Any, dict[str, Any]]:
    days = rows.order_by().annotate(day=TruncDay(F(at), tzinfo=UTC))
    found: QuerySet[Any, dict[str, Any]] = days.values("model", "day", *columns).annotate(
        num=num, **{f"sum_{kind}": Sum(kind) for kind in KINDS}
    )
    return found


def _used(row: Mapping[str, Any]) -> Used:
    tokens = Usage(**{kind: row[f"sum_{kind}"] for kind in KINDS})
    return Used(row["model"], row["day"].date(), tokens, row["num"])
