"""Changes of prices: the checks, the saving, and the removal of prices to come. Knows nothing of HTTP and of usage.

A bill is never changed. New prices therefore begin after the last priced bill of their model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from decimal import Decimal

from auditlog.context import disable_auditlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from webapp.ground.audit.log import record
from webapp.models.billing.bill import UNPRICED, price_book
from webapp.models.billing.models import LedgerEntry, Price
from webapp.models.billing.price_book import KINDS, Entry, PriceSet

MAX_UNIT_NANO = 100_000_000
"""100,000 of the currency's unit per million tokens: more is a typing error."""
_MAX_DAYS_AHEAD = 3660
_CURRENCY = re.compile(r"[A-Z]{3}")
_WORDS = {
    "uncached_input": "input",
    "cache_read": "cache reads",
    "cache_write_5m": "5-minute cache writes",
    "cache_write_1h": "1-hour cache writes",
    "output": "output",
}


@dataclass(frozen=True)
class NewPrices:
    """A price for each kind of token of one model, from a day of UTC on."""

    model: str
    effective_from: date
    currency: str
    unit_nano: Mapping[str, int]

    def entries(self) -> list[Entry]:
        return [Entry(self.model, kind, self.unit_nano[kind], self.currency, self.effective_from) for kind in KINDS]

    def as_set(self) -> PriceSet:
        return PriceSet(self.unit_nano, self.currency, f"{self.effective_from}")


@dataclass(frozen=True)
class Problem:
    """A reason why prices cannot be saved."""

    field: str
    message: str
    is_conflict: bool = False
    """The prices are right by themselves, and something stored stands against them."""


class BadPrices(Exception):
    """The prices cannot be saved."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems[0].message)
        self.problems = problems


def today() -> date:
    """The day of UTC by which a request that begins now takes its prices."""
    return timezone.now().astimezone(UTC).date()


def check(new: NewPrices, last_priced: date | None) -> None:
    """Check the prices by themselves, then against bills and other prices.

    last_priced: the last day with a priced bill of the model, as far as the records of use know. Raises BadPrices.
    """
    if problems := [*_figures(new), *_day(new)]:
        raise BadPrices(problems)
    if problems := _conflicts(new, last_priced):
        raise BadPrices(problems)


def save(new: NewPrices) -> None:
    """Save checked prices, with one entry in the audit log. Raises BadPrices where another operator was quicker."""
    day = new.effective_from
    before = price_book(new.model).in_force(new.model, day)
    try:
        with transaction.atomic():
            rows = Price.objects.bulk_create(_row(entry) for entry in new.entries())
            record(rows[0], "set the prices of", _told(before), _told(new.as_set()) | {"effective_from": f"{day}"})
    except IntegrityError:
        raise BadPrices([_taken(new)]) from None


def remove(model: str, effective_from: date) -> bool:
    """Remove prices that have not begun. False: there are none from that day. Raises BadPrices when they have begun."""
    if effective_from <= today():
        message = f"The prices from {effective_from} have begun. Set new prices from a later day instead."
        raise BadPrices([Problem("effective_from", message, is_conflict=True)])
    with transaction.atomic():
        rows = list(Price.objects.select_for_update().filter(model=model, effective_from=effective_from))
        if not rows:
            return False
        before = PriceSet({row.kind: row.unit_price_nano for row in rows}, rows[0].currency, f"{effective_from}")
        record(rows[0], "removed the prices of", _told(before))
        with disable_auditlog():  # the entry tells of all rows
            Price.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return True


def last_priced_bill(model: str) -> date | None:
    """The day of the last bill of the model that has an amount, by the ledger."""
    entries = LedgerEntry.objects.filter(model=model).exclude(price_version=UNPRICED).order_by("-posted_at")
    found = entries.values_list("posted_at", flat=True).first()
    return None if found is None else found.astimezone(UTC).date()


def _figures(new: NewPrices) -> list[Problem]:
    problems = []
    for kind in KINDS:
        nano, words = new.unit_nano[kind], _WORDS[kind]
        if nano < 0:
            problems.append(Problem(kind, f"The price of {words} is negative. Enter 0 for tokens that cost nothing."))
        elif nano > MAX_UNIT_NANO:
            most = f"{MAX_UNIT_NANO // 1000:,} {new.currency[:3]} per million tokens"
            problems.append(Problem(kind, f"The price of {words} is over the limit of {most}. Check the figure."))
    if not _CURRENCY.fullmatch(new.currency):
        message = f"The currency must be a code of three capital letters, such as USD, not {new.currency[:20]!r}."
        problems.append(Problem("currency", message))
    return problems


def _day(new: NewPrices) -> list[Problem]:
    if new.effective_from > today() + timedelta(days=_MAX_DAYS_AHEAD):
        return [Problem("effective_from", f"{new.effective_from} is more than ten years ahead. Choose an earlier day.")]
    return []


def _conflicts(new: NewPrices, last_priced: date | None) -> list[Problem]:
    if Price.objects.filter(model=new.model, effective_from=new.effective_from).exists():
        message = (
            f"{new.model} has prices from {new.effective_from} already. Choose another day, or remove those first."
        )
        return [Problem("effective_from", message, is_conflict=True)]
    days = [day for day in (last_priced, last_priced_bill(new.model)) if day is not None]
    if days and new.effective_from <= (last := max(days)):
        earliest = last + timedelta(days=1)
        message = (
            f"Bills of {new.model} are posted up to {last}, and posted bills stay as they are. "
            f"Choose {earliest} or a later day."
        )
        return [Problem("effective_from", message, is_conflict=True)]
    return []


def _taken(new: NewPrices) -> Problem:
    message = f"{new.model} has prices from {new.effective_from} already. Choose another day, or remove those first."
    return Problem("effective_from", message, is_conflict=True)


def _row(entry: Entry) -> Price:
    return Price(
        model=entry.model,
        kind=entry.kind,
        unit_price_nano=entry.unit_price_nano,
        currency=entry.currency,
        effective_from=entry.effective_from,
    )


def _told(prices: PriceSet | None) -> dict[str, str]:
    """Prices per million tokens, as values of the audit log."""
    if prices is None:
        return {}
    return {kind: f"{Decimal(nano) / 1000} {prices.currency}" for kind, nano in prices.unit_nano.items()}
