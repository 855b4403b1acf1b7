"""The tokens of a period, by model, day and user, are those of its records, and cost what the records say."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User

from inference.protocol.request import Usage
from tests.webapp.demonstration import DAYS, NOW, put_demonstration
from tests.webapp.usage.test_report import BERLIN, make_record, save
from webapp.models.billing.bill import UNPRICED, price_book
from webapp.models.billing.reprice import Used, reprice
from webapp.usage.models import UsageRecord
from webapp.usage.period import Period
from webapp.usage.sums import Filter
from webapp.usage.used_tokens import used_by_user, used_in

pytestmark = pytest.mark.django_db
UTC_ZONE = ZoneInfo("UTC")


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.mark.database
def test_tokens_are_counted_by_model_and_day_of_utc(alice: User) -> None:
    """In Berlin the period begins two hours before midnight of UTC."""
    late, noon = datetime(2026, 10, 4, 22, 30, tzinfo=UTC), datetime(2026, 10, 5, 12, tzinfo=UTC)
    save(make_record(1, alice, late), make_record(2, alice, noon), make_record(3, alice, noon, model="b"))
    found = used_in(Period(date(2026, 10, 5), date(2026, 10, 5), BERLIN), Filter())
    tokens = Usage(uncached_input=10, cache_read=30, output=5)
    assert sorted(found, key=lambda each: (each.model, each.day)) == [
        Used("a", date(2026, 10, 4), tokens),
        Used("a", date(2026, 10, 5), tokens),
        Used("b", date(2026, 10, 5), tokens),
    ]


def test_a_request_without_a_token_is_not_counted_and_an_unpriced_one_is(alice: User) -> None:
    noon = datetime(2026, 10, 5, 12, tzinfo=UTC)
    none = {"uncached_input": 0, "cache_read": 0, "output": 0, "cost_nano": None, "saved_nano": None, "currency": ""}
    save(
        make_record(1, alice, noon, price_version=UNPRICED, currency="", cost_nano=None, saved_nano=None),
        make_record(2, alice, noon, status="refused", price_version="", **none),
    )
    day = Period(date(2026, 10, 5), date(2026, 10, 5), UTC_ZONE)
    for chosen in (Filter(), Filter(user_ids=(alice.pk,))):
        found = reprice(used_in(day, chosen), price_book())
        assert (found.num_priced, found.num_unpriced, found.unpriced.output) == (0, 1, 5)


def test_repriced_demonstration_data_cost_what_their_records_say() -> None:
    """In all and by each user, from the sums and from the records."""
    put_demonstration()
    for num_days in (20, DAYS):
        period = Period(NOW.date() - timedelta(days=num_days - 1), NOW.date(), UTC_ZONE)
        billed = Counter[int]()
        records = UsageRecord.objects.filter(accepted_at__gte=period.start, accepted_at__lt=period.end)
        for user, nano in records.values_list("user_id", "cost_nano"):
            billed[user] += nano or 0
        used, book = used_by_user(period, Filter()), price_book()
        by_user = {user: reprice(each, book).nano.get("USD", 0) for user, each in used.items()}
        assert by_user == {user: nano for user, nano in billed.items() if user in by_user}
        assert reprice(used_in(period, Filter()), book).nano == {"USD": billed.total()}
        some = tuple(sorted(by_user)[:2])
        assert reprice(used_in(period, Filter(user_ids=some)), book).nano == {"USD": sum(billed[user] for user in some)}
