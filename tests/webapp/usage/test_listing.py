"""The requests behind a figure are listed in the asked order, without texts, and only to those who may see them."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.usage.test_report import FIRST, OCTOBER, alice, bob, get, make_record, operator, save, sign_in
from webapp.requests.models import Request
from webapp.usage.listing import MAX_LISTED
from webapp.usage.models import UsageRecord

__all__ = ["alice", "bob", "operator"]
pytestmark = pytest.mark.django_db
ALL, OWN = "/api/usage/all/requests", "/api/usage/requests"


@pytest.fixture
def some(alice: User, bob: User) -> list[UsageRecord]:
    hour = timedelta(hours=1)
    return save(
        make_record(1, alice, FIRST, cost_nano=5, first_token_us=900, output=7, uncached_input=1, cache_read=900),
        make_record(2, bob, FIRST + hour, cost_nano=None, currency="", first_token_us=None, output=1),
        make_record(3, bob, FIRST + 2 * hour, cost_nano=9, first_token_us=100, output=3, uncached_input=50),
        make_record(4, alice, FIRST + 3 * hour, status="failed", error_code="worker_lost", first_token_us=10, output=2),
    )


@pytest.mark.parametrize(
    ("order", "numbers"),
    [
        ("newest", [4, 3, 2, 1]),
        ("cost", [4, 3, 1, 2]),
        ("first_token", [1, 3, 4, 2]),
        ("input", [1, 3, 4, 2]),
        ("output", [1, 3, 4, 2]),
    ],
)
def test_requests_come_in_the_asked_order(
    operator: Client, some: list[UsageRecord], order: str, numbers: list[int]
) -> None:
    found = get(operator, ALL, **OCTOBER, order=order)
    assert [each["request_id"] for each in found["requests"]] == [f"req_{number}" for number in numbers]
    assert found["num_requests"] == 4


def test_a_row_says_what_is_known(operator: Client, some: list[UsageRecord]) -> None:
    rows = {each["request_id"]: each for each in get(operator, ALL, **OCTOBER)["requests"]}
    assert (rows["req_2"]["user"], rows["req_2"]["cost"], rows["req_2"]["first_token_us"]) == ("bob", None, None)
    assert rows["req_3"]["cost"] == {"currency": "USD", "nano": 9}
    assert (rows["req_4"]["status"], rows["req_4"]["error_code"]) == ("failed", "worker_lost")
    assert not any(row["is_readable"] for row in rows.values())


def test_input_that_the_cache_was_told_to_keep_is_input(operator: Client, alice: User) -> None:
    save(
        make_record(1, alice, FIRST, uncached_input=10, cache_read=20),
        make_record(2, alice, FIRST, uncached_input=5, cache_read=0, cache_write_5m=24, cache_write_1h=16),
    )
    first, _ = get(operator, ALL, **OCTOBER, order="input")["requests"]
    assert (first["request_id"], first["cache_write_5m"], first["cache_write_1h"]) == ("req_2", 24, 16)


def test_a_filter_and_a_cause_narrow_the_list(operator: Client, some: list[UsageRecord], bob: User) -> None:
    assert get(operator, ALL, **OCTOBER, code="worker_lost")["num_requests"] == 1
    assert get(operator, ALL, **OCTOBER, user=bob.pk)["num_requests"] == 2
    assert get(operator, ALL, first="2026-09-01", last="2026-09-30")["requests"] == []
    assert operator.get(ALL, {"order": "colour"}).status_code == 400


def test_a_slot_of_the_week_is_counted_in_the_periods_zone(operator: Client, some: list[UsageRecord]) -> None:
    local = FIRST.astimezone(ZoneInfo("Asia/Kolkata"))
    asked = {**OCTOBER, "zone": "Asia/Kolkata", "hour": local.hour}
    assert [each["request_id"] for each in get(operator, ALL, **asked)["requests"]] == ["req_1"]
    asked["weekday"] = local.weekday()
    assert get(operator, ALL, **asked)["num_requests"] == 1
    asked["weekday"] = (local.weekday() + 1) % 7
    assert get(operator, ALL, **asked)["num_requests"] == 0
    assert operator.get(ALL, {**asked, "weekday": 7}).status_code == 400
    assert operator.get(ALL, {**asked, "hour": -1}).status_code == 400


def test_users_list_their_own_and_may_read_what_has_a_trace(some: list[UsageRecord], alice: User, bob: User) -> None:
    for number, user in ((1, alice), (3, bob)):
        Request.objects.create(pk=f"req_{number}", user=user, surface="chat", model="a", title="A question")
    rows = get(sign_in(alice), OWN, **OCTOBER)["requests"]
    assert [(each["request_id"], each["is_readable"]) for each in rows] == [("req_4", False), ("req_1", True)]
    assert sign_in(alice).get(ALL).status_code == 403
    assert Client().get(OWN).status_code == 401


def test_a_long_list_ends_and_says_so(operator: Client, alice: User) -> None:
    save(*(make_record(number, alice, FIRST) for number in range(MAX_LISTED + 3)))
    found = get(operator, ALL, **OCTOBER)
    assert (len(found["requests"]), found["num_requests"]) == (MAX_LISTED, MAX_LISTED + 3)
