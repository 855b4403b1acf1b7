"""Budgets of a day and of a month: the records of use say what is spent, open requests' reservations are added.

Call it in a transaction that holds the user's lock, and the locks of shared rules with budgets. Both amounts are read
in one statement, so that a request that settles meanwhile counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeVar

from django.db.models import QuerySet, Sum, Value
from django.utils import timezone

from inference.protocol.events import Limit
from webapp.identity.accounts.roles import workers_of
from webapp.models.billing.bill import Promise, promise_at
from webapp.models.billing.price_book import PriceSet
from webapp.requests.models import Request
from webapp.usage.limits.models import Hold, Reservation
from webapp.usage.limits.refusal import Work, budget_used_up
from webapp.usage.limits.scopes import Scope, Subject
from webapp.usage.limits.used import uses_since

Row = TypeVar("Row", Reservation, Hold)
Period = Literal["daily_budget", "monthly_budget"]
_RETRY_AFTER_S = 5
"""Open requests end within seconds, and most cost less than they reserve."""


@dataclass(frozen=True)
class Budget:
    """One budget at one moment, in billionths of a unit of one currency."""

    subject: Subject
    name: Period
    limit: int
    spent: int
    reserved: int
    """By open requests, and by work that is computed at once."""
    currency: str
    ends_at: datetime

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.spent - self.reserved)

    def check(self, nano: int, work: Work) -> None:
        """Raises Refused unless so much fits."""
        if nano <= self.remaining:
            return
        wait_s = int((self.ends_at - timezone.now()).total_seconds()) + 1
        if nano > self.limit:
            wait_s = 0
        elif nano <= self.limit - self.spent:
            wait_s = _RETRY_AFTER_S
        raise budget_used_up(self.limit_before(0, 0), nano, wait_s, work)

    def limit_before(self, before: int, nano: int) -> Limit:
        """The state for a request that begins after others of the same send took so much."""
        return Limit(
            name=self.name,
            subject=self.subject,
            limit=self.limit,
            remaining=max(0, self.remaining - before),
            reset_unix_us=int(self.ends_at.timestamp()) * 10**6,
            num_taken=nano,
            refill_per_s=0.0,
            currency=self.currency,
        )


def budgets_of(scopes: Sequence[Scope], currency: str) -> list[Budget]:
    """Read the budgets that these scopes name."""
    now = timezone.now().astimezone(UTC)
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    month = day.replace(day=1)
    periods: list[tuple[Period, datetime, datetime]] = [
        ("daily_budget", day, day + timedelta(days=1)),
        ("monthly_budget", month, (month + timedelta(days=31)).replace(day=1)),
    ]
    return [
        _budget(scope, name, start, end, currency)
        for scope in scopes
        for name, start, end in periods
        if getattr(scope.amounts, f"{name}_nano") is not None
    ]


def promise_to(request: Request) -> Promise:
    """The prices at which a request was reserved; without a reservation, those of the day of its acceptance."""
    kept = Reservation.objects.filter(request_id=request.pk).exclude(price_version="").first()
    found = kept or Hold.objects.filter(pk=request.pk).first()
    if found is None:
        return promise_at(request.model, request.accepted_unix_us)
    return Promise(PriceSet(found.unit_nano, found.currency, found.price_version) if found.unit_nano else None)


def release(request_id: str) -> None:
    """End a request's reservation, in the transaction that posts its bill."""
    Reservation.objects.filter(request_id=request_id).delete()
    Hold.objects.filter(pk=request_id).delete()


def _budget(scope: Scope, name: Period, start: datetime, end: datetime, currency: str) -> Budget:
    spent = _total(uses_since(scope, start).filter(currency=currency), "spent", "cost_nano")
    reserved = _total(_reserved(scope).filter(currency=currency), "reserved", "nano")
    held = _total(_held(scope).filter(currency=currency), "held", "nano")
    found = dict(spent.union(reserved, held, all=True))
    limit = getattr(scope.amounts, f"{name}_nano")
    taken = found.get("reserved", 0) + found.get("held", 0)
    return Budget(scope.kind, name, limit, found.get("spent", 0), taken, currency, end)


def _total(rows: QuerySet[Any], name: str, column: str) -> QuerySet[Any]:
    """One row of this name, or none."""
    named = rows.order_by().annotate(part=Value(name)).values("part")
    summed: QuerySet[Any] = named.annotate(total=Sum(column, default=0)).values_list("part", "total")
    return summed


def _reserved(scope: Scope) -> QuerySet[Reservation]:
    """Reservations of all open requests, also of those that were accepted before the period began."""
    return _within(scope, Reservation.objects.filter(request__finished_at=None), "request__")


def _held(scope: Scope) -> QuerySet[Hold]:
    return _within(scope, Hold.objects.filter(ends_at__gt=timezone.now()), "")


def _within(scope: Scope, rows: QuerySet[Row], to: str) -> QuerySet[Row]:
    """Rows of a scope. to: the way from a row to what has user, key and model."""
    if scope.key_id is not None:
        return rows.filter(**{f"{to}key_id": scope.key_id})
    if scope.model:
        rows = rows.filter(**{f"{to}model": scope.model})
    if scope.user_id:
        rows = rows.filter(**{f"{to}user_id": scope.user_id})
    return rows.filter(**{f"{to}user__in": workers_of(scope.group_id)}) if scope.group_id else rows
