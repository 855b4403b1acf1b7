"""A user's room for requests under the limits that the database counts. Call it under the user's lock.

The lock makes it exact: no other transaction of the user reads or writes in between. Shared rules have locks of their
own. A transaction that fails takes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from inference.protocol.events import Limit
from webapp.identity.accounts.roles import workers_of
from webapp.models.billing.bill import UNPRICED
from webapp.models.billing.price_book import PriceSet
from webapp.requests.models import Request
from webapp.usage.limits.budget import Budget, budgets_of
from webapp.usage.limits.charge import Charge, prices_now
from webapp.usage.limits.effective import Effective
from webapp.usage.limits.models import Hold, Reservation
from webapp.usage.limits.refusal import forms_too_complex
from webapp.usage.limits.rules import effective_of, refusal_of
from webapp.usage.limits.scopes import Scope, scopes_of
from webapp.usage.limits.shared import shared_rules
from webapp.usage.limits.used import DayTokens, tokens_today
from webapp.usage.models import UsageRecord

MAX_TOO_COMPLEX = 10
"""Answers of a user that may fail in the time below as their form was too complex. Such answers cost nothing."""
TOO_COMPLEX_TIME = timedelta(minutes=10)
HELD = timedelta(minutes=10)
"""Time after which held work counts as lost with its process: longer than all that may wait there."""


@dataclass(frozen=True)
class Places:
    """The open requests of one subject at one moment."""

    scope: Scope
    most: int
    num_open: int

    @property
    def num_free(self) -> int:
        return max(0, self.most - self.num_open)


@dataclass(frozen=True)
class Room:
    """The state of the limits that the database counts, for one user's requests to one model."""

    effective: Effective
    places: list[Places]
    """The user's own first."""
    budgets: list[Budget]
    prices: PriceSet | None
    """None: nothing is priced, or no budget concerns it."""
    has_budget: bool
    """A budget concerns it, with prices or without."""
    days: list[DayTokens]
    """Of the scopes whose tokens of a day have a limit."""
    forms_wait_s: int = 0
    """Time until the user may send again after answers whose form was too complex."""

    def check(self) -> None:
        """Raises Refused where the user may send nothing now."""
        if (refused := refusal_of(self.effective)) is not None:
            raise refused
        for day in self.days:
            day.check()
        if self.forms_wait_s:
            raise forms_too_complex(MAX_TOO_COMPLEX, self.forms_wait_s)

    def check_budgets(self, charges: Sequence[Charge]) -> None:
        """Raises Refused unless the highest cost of all fits every budget."""
        for budget in self.budgets:
            budget.check(sum(self.nanos(charges)), charges[0].work)

    def check_whole_budgets(self, charge: Charge) -> None:
        """Raises Refused where the highest cost is more than a budget of which nothing is spent."""
        (nano,) = self.nanos([charge])
        for budget in self.budgets:
            if nano > budget.limit:
                budget.check(nano, charge.work)

    def num_free(self, charges: Sequence[Charge]) -> int:
        """Return how many of these, from the first on, fit."""
        is_used_up = any(day.remaining == 0 for day in self.days)
        if refusal_of(self.effective) is not None or is_used_up or self.forms_wait_s:
            return 0
        most = min([len(charges), *(each.num_free for each in self.places)])
        left = min((budget.remaining for budget in self.budgets), default=None)
        nanos = self.nanos(charges)
        return most if left is None else max(n for n in range(most + 1) if sum(nanos[:n]) <= left)

    def nanos(self, charges: Sequence[Charge]) -> list[int]:
        """Each request's highest cost."""
        return [0 if self.prices is None else charge.most_nano(self.prices) for charge in charges]

    def limits(self, at: int, charges: Sequence[Charge]) -> list[Limit]:
        """The state of each limit for the request at this place of the same send, except open requests."""
        nanos, days = self.nanos(charges), [day.as_limit() for day in self.days]
        return [*days, *(budget.limit_before(sum(nanos[:at]), nanos[at]) for budget in self.budgets)]


def room_of(
    user_id: int, model: str, key_id: int | None, is_locked: bool = False, *, is_of_batch: bool = False
) -> Room:
    """Read the state of the limits. is_locked: lock the shared rules whose amounts the database counts.

    is_of_batch: for requests of a batch. These and a user's own take no places from each other.
    """
    effective = effective_of(user_id)
    rules = shared_rules(user_id, model, key_id)
    scopes = scopes_of(user_id, effective, list(rules.select_for_update(no_key=True) if is_locked else rules))
    has_budget = any(scope.has_budget for scope in scopes)
    prices = prices_now(model) if has_budget else None
    return Room(
        effective=effective,
        places=[
            Places(scope, most, _num_open(scope, is_of_batch))
            for scope in scopes
            if (most := scope.amounts.max_open) is not None
        ],
        budgets=[] if prices is None else budgets_of(scopes, prices.currency),
        prices=prices,
        has_budget=has_budget,
        days=[day for scope in scopes if (day := tokens_today(scope)) is not None],
        forms_wait_s=_forms_wait_s(user_id),
    )


def reserve(requests: Sequence[Request], charges: Sequence[Charge], room: Room) -> None:
    """Reserve each request's highest cost with its prices, in the transaction that saves the request."""
    if room.has_budget:
        rows = zip(requests, room.nanos(charges), strict=True)
        fields = _kept(room)
        Reservation.objects.bulk_create(Reservation(request=each, nano=nano, **fields) for each, nano in rows)


def hold(request: Request, charge: Charge, room: Room) -> None:
    """Reserve the cost of work that this process computes at once, with its prices. Other such work that died ends."""
    if not room.has_budget:
        return
    now = timezone.now()
    Hold.objects.filter(user_id=request.user_id, ends_at__lt=now).delete()
    Hold.objects.create(
        request_id=request.pk,
        user_id=request.user_id,
        key_id=request.key_id,
        model=request.model,
        nano=room.nanos([charge])[0],
        ends_at=now + HELD,
        **_kept(room),
    )


def _kept(room: Room) -> dict[str, Any]:
    """The prices, as a reservation keeps them."""
    prices = room.prices or PriceSet({}, "", UNPRICED)
    return {"currency": prices.currency, "price_version": prices.version, "unit_nano": dict(prices.unit_nano)}


def _num_open(scope: Scope, is_of_batch: bool) -> int:
    rows = Request.objects.filter(finished_at=None, batch_id__isnull=not is_of_batch)
    if scope.key_id is not None:
        return rows.filter(key_id=scope.key_id).count()
    if scope.model:
        rows = rows.filter(model=scope.model)
    if scope.user_id:
        rows = rows.filter(user_id=scope.user_id)
    return (rows.filter(user__in=workers_of(scope.group_id)) if scope.group_id else rows).count()


def _forms_wait_s(user_id: int) -> int:
    """Return the time until fewer than MAX_TOO_COMPLEX such answers are recent enough to count."""
    now = timezone.now()
    failed = UsageRecord.objects.filter(user_id=user_id, error_code="grammar_too_complex", is_demo=False)
    recent = failed.filter(accepted_at__gt=now - TOO_COMPLEX_TIME).order_by("-accepted_at")
    last = recent.values_list("accepted_at", flat=True)[MAX_TOO_COMPLEX - 1 : MAX_TOO_COMPLEX].first()
    return 0 if last is None else int((last + TOO_COMPLEX_TIME - now).total_seconds()) + 1
