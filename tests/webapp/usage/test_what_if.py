"""What a period would have cost: exact amounts, and what is unknown is said."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.webapp.demonstration import NOW, put_demonstration
from tests.webapp.usage.test_report import make_record, save
from webapp.models.billing.bill import UNPRICED
from webapp.models.billing.models import Price
from webapp.models.billing.price_book import KINDS
from webapp.usage.period import Period
from webapp.usage.report import Amount
from webapp.usage.sums import Filter
from webapp.usage.what_if import BadCondition, Condition, what_if

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 10, 5, 12, tzinfo=UTC)
DAY = Period(date(2026, 10, 5), date(2026, 10, 5), ZoneInfo("UTC"))
NANO = {"uncached_input": 10, "cache_read": 1, "cache_write_5m": 12, "cache_write_1h": 20, "output": 40}


def set_prices(model: str, factor: int = 1, day: date = date(2026, 1, 1), currency: str = "USD") -> None:
    Price.objects.bulk_create(
        Price(model=model, kind=kind, unit_price_nano=NANO[kind] * factor, currency=currency, effective_from=day)
        for kind in KINDS
    )


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def day(alice: User) -> User:
    """Two priced requests and one without a price. Each has 10 tokens of input, 30 from the cache, 5 of output."""
    set_prices("a")
    set_prices("b", 3)
    cost = 10 * 10 + 30 * 1 + 5 * 40
    save(
        make_record(1, alice, NOON, cost_nano=cost),
        make_record(2, alice, NOON, model="b", cost_nano=3 * cost),
        make_record(3, alice, NOON, model="c", cost_nano=None, saved_nano=None, currency="", price_version=UNPRICED),
    )
    return alice


def usd(nano: int) -> list[Amount]:
    return [Amount("USD", nano)]


def test_without_a_cache_all_input_is_computed(day: User) -> None:
    found = what_if(DAY, Filter(), Condition("no_cache"))
    assert (found.billed, found.actual) == (usd(4 * 330), usd(4 * 330))
    assert found.changed == usd(4 * (40 * 10 + 5 * 40))
    assert (found.num_requests, found.num_unpriced_actual, found.num_unpriced) == (3, 1, 1)
    only_b = what_if(DAY, Filter(), Condition("no_cache", of="b"))
    assert only_b.changed == usd(330 + 3 * 600)


def test_another_models_prices_price_the_unpriced_too(day: User) -> None:
    found = what_if(DAY, Filter(), Condition("prices_of", prices_of="b"))
    assert (found.changed, found.num_unpriced) == (usd(3 * 3 * 330), 0)
    assert found.used_models == ["a", "b", "c"]
    assert {"a", "b"} < set(found.models)


def test_a_price_doubles_for_one_model_or_all(day: User) -> None:
    assert what_if(DAY, Filter(), Condition("factor", factor="2")).changed == usd(2 * 4 * 330)
    assert what_if(DAY, Filter(), Condition("factor", factor="2", of="a")).changed == usd(2 * 330 + 3 * 330)
    assert what_if(DAY, Filter(), Condition("factor", factor="0")).changed == usd(0)
    assert what_if(DAY, Filter(model="a"), Condition("factor", factor="1,5")).changed == usd(15 * 10 + 2 * 30 + 60 * 5)


def test_another_time_to_live_is_unknown_and_says_why(day: User) -> None:
    found = what_if(DAY, Filter(), Condition("ttl"))
    assert found.changed is None
    assert "Re-price" in found.unknown


@pytest.mark.parametrize("factor", ["", "two", "-1", "1e9", "nan", "inf", "1/0", "9" * 30, "1e999999999", "١"])
def test_a_factor_that_is_none_is_refused(day: User, factor: str) -> None:
    with pytest.raises(BadCondition, match="number from 0 to 1000"):
        what_if(DAY, Filter(), Condition("factor", factor=factor))


def test_prices_that_do_not_exist_are_refused(day: User) -> None:
    with pytest.raises(BadCondition, match="Choose one of a, all-minilm-l6-v2, b"):
        what_if(DAY, Filter(), Condition("prices_of", prices_of="z"))


def test_what_was_billed_stays_when_the_list_changes(day: User) -> None:
    Price.objects.filter(model="a").delete()
    set_prices("a", 5)
    found = what_if(DAY, Filter(), Condition("factor", factor="1"))
    assert (found.billed, found.actual, found.changed) == (usd(4 * 330), usd(8 * 330), usd(8 * 330))


def test_currencies_stay_apart(day: User) -> None:
    set_prices("e", currency="EUR")
    found = what_if(DAY, Filter(), Condition("prices_of", prices_of="e", of="a"))
    assert found.changed == [Amount("EUR", 330), Amount("USD", 3 * 330)]


def test_the_demonstration_month_costs_what_its_bills_say() -> None:
    put_demonstration()
    month = Period(NOW.date() - timedelta(days=29), NOW.date(), ZoneInfo("UTC"))
    found = what_if(month, Filter(), Condition("factor", factor="2"))
    assert found.billed == found.actual
    assert found.changed == usd(2 * found.billed[0].nano)


def test_a_batch_keeps_its_lower_price(alice: User) -> None:
    """Unit prices are halved, each rounded up: 5, 1, 6, 10, 20 in place of 10, 1, 12, 20, 40."""
    set_prices("a")
    half = 10 * 5 + 30 * 1 + 5 * 20
    save(
        make_record(1, alice, NOON, cost_nano=330),
        make_record(2, alice, NOON, cost_nano=half, price_version="2026-01-01", is_batch=True),
    )
    for chosen in (Filter(), Filter(user_ids=(alice.pk,))):
        found = what_if(DAY, chosen, Condition("no_cache"))
        assert (found.billed, found.actual) == (usd(330 + half), usd(330 + half))
        assert found.changed == usd(40 * 10 + 5 * 40 + 40 * 5 + 5 * 20)
        assert (found.num_requests, found.num_unpriced) == (2, 0)
        doubled = what_if(DAY, chosen, Condition("factor", factor="2"))
        assert doubled.changed == usd(2 * 330 + 10 * 10 + 30 * 1 + 5 * 40)


def ask(client: Client, **query: Any) -> Any:
    return client.get("/api/usage/all/what-if", {"first": "2026-10-05", "last": "2026-10-05", **query})


def test_the_operation_is_for_operators(day: User, client: Client) -> None:
    client.force_login(day)
    assert ask(client).status_code == 403
    day.user_permissions.add(Permission.objects.get(codename="view_usagerecord"))
    assert ask(client).json()["changed"] == [{"currency": "USD", "nano": 2400}]
    refused = ask(client, question="factor", factor="many")
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "factor")
    assert ask(client, question="magic").status_code == 400
