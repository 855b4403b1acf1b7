"""A request costs what was promised as it began, whatever happens to prices until its bill."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.webapp.usage.limits.test_budgets import FAILED, MODEL, begin, finish
from tests.webapp.usage.test_report import save
from webapp.lifecycle.settle import settle
from webapp.models.billing import price_changes
from webapp.models.billing.bill import UNPRICED, price_book
from webapp.models.billing.models import LedgerEntry, Price
from webapp.models.billing.price_book import KINDS
from webapp.models.billing.price_changes import BadPrices, NewPrices
from webapp.requests.models import Request
from webapp.usage.limits.models import Reservation, Rule
from webapp.usage.limits.refusal import Refused
from webapp.usage.models import UsageRecord

pytestmark = pytest.mark.django_db(transaction=True)
DAY = date(2030, 5, 31)
"""The last day of a month, so that a month ends in the midst of histories."""


class Clock:
    """The site's time, which tests move."""

    def __init__(self) -> None:
        self.now = datetime.combine(DAY, time(23, 59), UTC)

    def __call__(self) -> datetime:
        return self.now

    def next_day(self) -> None:
        self.now += timedelta(days=1)


@pytest.fixture(autouse=True)
def _redis(redis_client: object) -> None:
    """Requests have their log in a real server."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moved = Clock()
    monkeypatch.setattr(timezone, "now", moved)
    return moved


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


def set_prices(output_nano: int, currency: str = "USD", day: date = DAY) -> None:
    """As an operator does. Raises BadPrices."""
    new = NewPrices(MODEL, day, currency, dict.fromkeys(KINDS, 0) | {"output": output_nano})
    price_changes.check(new, None)
    price_changes.save(new)


def begun(user: User, clock: Clock, num_output: int) -> Request:
    """Begin a request at the clock's time. Raises Refused."""
    return begin(user, num_output, accepted_unix_us=int(clock.now.timestamp() * 1e6))


@pytest.fixture
def priced(clock: Clock) -> None:
    Price.objects.all().delete()
    set_prices(10)


@pytest.mark.usefixtures("priced")
@pytest.mark.parametrize("currency", ["USD", "EUR"])
@pytest.mark.parametrize("has_budget", [True, False])
def test_a_request_of_yesterday_costs_yesterdays_prices(
    alice: User, clock: Clock, currency: str, has_budget: bool
) -> None:
    Rule.objects.create(user=alice, monthly_budget_nano=1000 if has_budget else None)
    set_prices(70, currency, DAY + timedelta(days=1))
    request = begun(alice, clock, 100)
    clock.next_day()
    finish(request, 100)
    entry, record = LedgerEntry.objects.get(), UsageRecord.objects.get()
    assert (entry.total_nano, entry.currency, entry.price_version) == (1000, "USD", f"{DAY}")
    assert (record.cost_nano, record.currency, record.price_version) == (1000, "USD", f"{DAY}")


@pytest.mark.parametrize("has_budget", [True, False])
def test_a_model_that_gets_prices_meanwhile_bills_what_it_had_promised(
    alice: User, clock: Clock, has_budget: bool
) -> None:
    """A budget's request had no price, and reserved nothing. Without a budget the day's prices apply."""
    Price.objects.all().delete()
    Rule.objects.create(user=alice, daily_budget_nano=1 if has_budget else None)
    request = begun(alice, clock, 100)
    set_prices(10)
    finish(request, 100)
    entry = LedgerEntry.objects.get()
    assert (entry.total_nano, entry.price_version) == ((0, UNPRICED) if has_budget else (1000, f"{DAY}"))


NANO, CURRENCY = st.sampled_from([9, 3, 0]), st.sampled_from(["USD", "EUR"])
LIMIT = 1000
"""Of a day's budget, in billionths."""


@dataclass(frozen=True)
class Night:
    """A day ends. From the next one on the model has other prices, unless the operator had set them before."""

    nano: int
    currency: str


@dataclass(frozen=True)
class Begin:
    """A request begins that may write so many tokens."""

    most: int


@dataclass(frozen=True)
class Settle:
    """An open request ends, with this share of its tokens; 0: it fails."""

    at: int
    share: float


@dataclass(frozen=True)
class Prices:
    """An operator sets prices from today on, or from a later day."""

    nano: int
    currency: str
    days: int


STEPS = st.lists(
    st.one_of(
        st.builds(Begin, st.sampled_from([300, 100, 50])),
        st.builds(Night, NANO, CURRENCY),
        st.builds(Settle, st.integers(0, 9), st.sampled_from([1, 0.5, 0])),
        st.builds(Prices, NANO, CURRENCY, st.integers(0, 2)),
    ),
    min_size=10,
    max_size=25,
)


class History:
    """What happened to one user's requests."""

    def __init__(self, user: User, clock: Clock) -> None:
        for table in (Reservation, Request, Price, UsageRecord):
            table.objects.all().delete()
        save()
        LedgerEntry.objects.all()._raw_delete("default")
        Rule.objects.update_or_create(user=user, defaults={"max_open": 1000, "daily_budget_nano": LIMIT})
        clock.now = datetime.combine(DAY, time(23, 59), UTC)
        self.user, self.clock = user, clock
        self.open: list[tuple[Request, int]] = []

    def take(self, step: Begin | Night | Settle | Prices) -> None:
        match step:
            case Begin(most):
                with suppress(Refused):
                    self.open.append((begun(self.user, self.clock, most), most))
            case Settle(at, share) if self.open:
                self.settle(*self.open.pop(at % len(self.open)), share)
            case Prices(nano, currency, days):
                with suppress(BadPrices):
                    set_prices(nano, currency, self.clock.now.date() + timedelta(days=days))
            case Night(nano, currency):
                self.take(Prices(nano, currency, days=1))
                self.clock.next_day()

    def settle(self, request: Request, most: int, share: float) -> None:
        if share:
            finish(request, int(share * most))
        else:
            settle(request.pk, FAILED)


def check_budget() -> None:
    """Nothing of a day and a currency is beyond the budget."""
    spent = Counter[tuple[date, str]]()
    for record in UsageRecord.objects.exclude(cost_nano=None):
        spent[record.accepted_at.date(), record.currency] += record.cost_nano or 0
    assert max(spent.values(), default=0) <= LIMIT


def check_bills() -> None:
    """Every bill names the prices by which it was made."""
    book = price_book(MODEL)
    for entry in LedgerEntry.objects.all():
        if entry.price_version == UNPRICED:
            assert entry.total_nano == 0
        else:
            prices = book.in_force(MODEL, date.fromisoformat(entry.price_version))
            assert prices is not None and (prices.version, prices.currency) == (entry.price_version, entry.currency)
            assert entry.total_nano == entry.output * prices.unit_nano["output"]


def test_no_history_of_prices_goes_beyond_a_budget(alice: User, clock: Clock) -> None:
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(STEPS)
    def check(steps: list[Begin | Night | Settle | Prices]) -> None:
        history = History(alice, clock)
        for step in steps:
            history.take(step)
            check_budget()
        check_bills()

    check()
