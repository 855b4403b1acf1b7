"""Reads the tokens of a period by model and day of UTC, for the bill's re-pricing. Knows nothing of prices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDay

from inference.protocol.request import Usage
from webapp.models.billing.price_book import KINDS
from webapp.models.billing.reprice import Used
from webapp.usage.models import UsageRecord, UsageSum
from webapp.usage.period import Period
from webapp.usage.sums import Filter

_WITH_TOKENS = Sum("num_requests", filter=~Q(currency=""), default=0) + Sum(
    "num_unpriced", filter=Q(currency=""), default=0
)
"""Requests that used a token. Without a currency a sum holds unpriced requests and such as used none."""


def used_in(period: Period, chosen: Filter) -> list[Used]:
    """The tokens of the chosen requests, those of batches apart."""
    if chosen.columns.keys() <= set(UsageSum.GROUPED):
        rows = UsageSum.objects.filter(span=period.span, start__gte=period.start, start__lt=period.end)
        found = _by_day(rows.filter(**chosen.conditions()), "start", _WITH_TOKENS)
        of_batches = [_used(row, True) for row in _of_records(period, chosen).filter(is_batch=True)]
        return _apart([_used(row, False) for row in found], of_batches)
    return [used for _, used in _of_both(period, chosen)]


def used_by_user(period: Period, chosen: Filter) -> Mapping[int, list[Used]]:
    """The tokens of the chosen requests, by id of their user. Reads the records: no sum has both user and model."""
    users = defaultdict[int, list[Used]](list)
    for row, used in _of_both(period, chosen, "user_id"):
        users[row["user_id"]].append(used)
    return users


def _of_both(period: Period, chosen: Filter, *columns: str) -> Iterator[tuple[Mapping[str, Any], Used]]:
    """Requests of batches and all others."""
    for is_batch in (False, True):
        for row in _of_records(period, chosen, *columns).filter(is_batch=is_batch):
            yield row, _used(row, is_batch)


def _apart(all_used: Iterable[Used], of_batches: Sequence[Used]) -> list[Used]:
    """Part what the sums hold together: all requests, and such of them as are of batches."""
    found = {(each.model, each.day): each for each in of_batches}
    rest = [_less(each, found.get((each.model, each.day))) for each in all_used]
    return [*(each for each in rest if each.num_requests), *of_batches]


def _less(used: Used, part: Used | None) -> Used:
    if part is None:
        return used
    tokens = Usage(**{kind: getattr(used.tokens, kind) - getattr(part.tokens, kind) for kind in KINDS})
    return replace(used, tokens=tokens, num_requests=used.num_requests - part.num_requests)


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


def _used(row: Mapping[str, Any], is_batch: bool) -> Used:
    tokens = Usage(**{kind: row[f"sum_{kind}"] for kind in KINDS})
    return Used(row["model"], row["day"].date(), tokens, row["num"], is_batch)
