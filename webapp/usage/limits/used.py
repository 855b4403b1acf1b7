"""Reads what a scope's ended requests used, from the smallest table that tells its requests apart."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import QuerySet, Sum
from django.utils import timezone

from inference.protocol.events import Limit
from webapp.identity.accounts.roles import workers_of
from webapp.models.billing.bill import KINDS
from webapp.usage.limits.refusal import day_used_up
from webapp.usage.limits.scopes import Scope, Subject
from webapp.usage.models import UsageRecord, UsageSum, UserSum

_S = 1_000_000


@dataclass(frozen=True)
class DayTokens:
    """The tokens of one scope on one day of UTC. They count when their request ends."""

    subject: Subject
    limit: int
    used: int

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.used)

    def check(self) -> None:
        """Raises Refused where none is left."""
        if not self.remaining:
            raise day_used_up(self.as_limit(), self.used, _s_to_midnight())

    def as_limit(self) -> Limit:
        end = _midnight() + timedelta(days=1)
        return Limit(
            name="daily_tokens",
            subject=self.subject,
            limit=self.limit,
            remaining=self.remaining,
            reset_unix_us=int(end.timestamp()) * _S,
            num_taken=0,
            refill_per_s=0.0,
        )


def uses_since(scope: Scope, start: datetime) -> QuerySet[Any]:
    """Rows with the use of requests that were accepted since a midnight of UTC."""
    if scope.key_id is not None:
        return UsageRecord.objects.filter(key_id=scope.key_id, accepted_at__gte=start)
    if scope.model and scope.user_id:
        return UsageRecord.objects.filter(user_id=scope.user_id, model=scope.model, accepted_at__gte=start)
    if scope.model:
        return UsageSum.objects.filter(span="day", start__gte=start, model=scope.model)
    sums = UserSum.objects.filter(span="day", start__gte=start)
    if scope.user_id:
        return sums.filter(user_id=scope.user_id)
    return sums.filter(user__in=workers_of(scope.group_id)) if scope.group_id else sums


def tokens_today(scope: Scope) -> DayTokens | None:
    """Read the scope's tokens of today. None: they have no limit."""
    limit = scope.amounts.tokens_per_day
    if limit is None:
        return None
    found = uses_since(scope, _midnight()).aggregate(**{f"sum_{kind}": Sum(kind, default=0) for kind in KINDS})
    return DayTokens(scope.kind, limit, sum(found.values()))


def _midnight() -> datetime:
    """The beginning of today in UTC."""
    return timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _s_to_midnight() -> int:
    return int((_midnight() + timedelta(days=1) - timezone.now()).total_seconds()) + 1
