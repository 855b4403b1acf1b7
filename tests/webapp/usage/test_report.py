"""The report's figures equal those of the records, in each group, part and hour; each user sees their own."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.test import Client

from tests.rows import Rows, put, rows_of
from webapp.usage.models import SpeedSketch, UsageRecord, UsageSum, UserSum
from webapp.usage.roll_up import recount

pytestmark = pytest.mark.django_db
FIRST = datetime(2026, 10, 1, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
_COUNTED = {connection.ops.quote_name(each._meta.db_table) for each in (UsageRecord, UsageSum, UserSum, SpeedSketch)}
_MONTHS: dict[tuple[int, int], Rows] = {}
"""The rows of `month`, which take a second to count, by its users."""


def make_record(number: int, user: User, at: datetime, **more: Any) -> UsageRecord:
    fields: dict[str, Any] = {
        "surface": "chat",
        "model": "a",
        "status": "done",
        "verdict": "allow",
        "is_cache_known": True,
        "price_version": "2026-01-01",
        "currency": "USD",
        "uncached_input": 10,
        "cache_read": 30,
        "output": 5,
        "cost_nano": 1000,
        "saved_nano": 540,
        "first_token_us": 1000 * (number + 1),
    }
    return UsageRecord(request_id=f"req_{number}", user=user, accepted_at=at, **fields | more)


def save(*records: UsageRecord) -> list[UsageRecord]:
    UsageRecord.objects.bulk_create(records)
    recount()
    return list(records)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob")


@pytest.fixture
def operator() -> Client:
    """A user whose one permission is to view usage."""
    user = User.objects.create_user("olive")
    user.user_permissions.add(Permission.objects.get(codename="view_usagerecord"))
    return sign_in(user)


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def get(client: Client, path: str = "/api/usage/all", **query: object) -> dict[str, Any]:
    response = client.get(path, query)
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


OCTOBER = {"first": "2026-10-01", "last": "2026-10-31"}


@pytest.fixture
def month(alice: User, bob: User) -> list[UsageRecord]:
    """A record of each user every 17 hours of October and September."""
    endings = [
        ("done", ""),
        ("done", ""),
        ("failed", "worker_lost"),
        ("refused", "too_many_open"),
        ("blocked", "blocked"),
    ]
    records = [
        make_record(
            2 * number + is_bob,
            user,
            FIRST + timedelta(days=-30, hours=17 * number),
            model="ab"[number % 2],
            status=endings[number % 5][0],
            error_code=endings[number % 5][1],
            verdict=("allow", "flag", "")[number % 3],
            cost_nano=number,
        )
        for number in range(87)
        for is_bob, user in enumerate((alice, bob))
    ]
    if (alice.pk, bob.pk) in _MONTHS:
        put(connection, _MONTHS[alice.pk, bob.pk])
        return records
    save(*records)
    _MONTHS[alice.pk, bob.pk] = {name: rows for name, rows in rows_of(connection).items() if name in _COUNTED}
    return records


@pytest.mark.parametrize(
    ("zone", "by"),
    [("UTC", "model"), ("Europe/Berlin", "user"), ("Asia/Kolkata", "group"), ("UTC", "surface"), ("UTC", "status")],
)
@pytest.mark.database
def test_groups_and_parts_add_up_to_the_whole(operator: Client, month: list[UsageRecord], zone: str, by: str) -> None:
    found = get(operator, **OCTOBER, by=by, zone=zone)
    assert found["now"]["num_requests"] > 80
    for name in ("num_requests", "output", "cache_read", "num_failed", "num_refused", "num_held_back"):
        whole = found["now"][name]
        assert sum(group["now"][name] for group in found["groups"]) == whole
        assert sum(point[name] for group in found["groups"] for point in group["points"]) == whole
    assert sum(map(sum, found["heat"])) == found["now"]["num_requests"]
    assert len(found["starts"]) == 31 == len(found["speed"]["queue_us"]["points"])


@pytest.mark.database
def test_figures_equal_those_of_the_records(operator: Client, month: list[UsageRecord]) -> None:
    found = get(operator, **OCTOBER, zone="Europe/Berlin")
    first, last = datetime(2026, 10, 1, tzinfo=BERLIN), datetime(2026, 11, 1, tzinfo=BERLIN)
    within = [record for record in month if first <= record.accepted_at < last]
    before = [record for record in month if record.accepted_at < first]
    assert found["now"]["num_requests"] == len(within)
    assert found["before"]["num_requests"] == len(before)
    assert found["now"]["cost"] == [{"currency": "USD", "nano": sum(record.cost_nano or 0 for record in within)}]
    assert found["now"]["saved"] == [{"currency": "USD", "nano": 540 * len(within)}]
    days = Counter(record.accepted_at.astimezone(BERLIN).day for record in within)
    assert [sum(g["points"][day]["num_requests"] for g in found["groups"]) for day in range(31)] == [
        days[day + 1] for day in range(31)
    ]
    heat = Counter((at.weekday(), at.hour) for at in (record.accepted_at.astimezone(BERLIN) for record in within))
    assert {(d, h): n for d, row in enumerate(found["heat"]) for h, n in enumerate(row) if n} == heat
    times = np.array([record.first_token_us for record in within])
    timing = found["speed"]["first_token_us"]["now"]
    assert timing["num"] == len(within)
    assert timing["p95"] == pytest.approx(np.quantile(times, 0.95, method="lower"), rel=0.011)
    causes = Counter((record.status, record.error_code) for record in within if record.status != "done")
    assert {(each["status"], each["code"]): each["num"] for each in found["causes"]} == causes
    assert found["num_users"] == 2
    days_before = Counter(record.accepted_at.astimezone(BERLIN).date() for record in before)
    counted = [days_before[FIRST.date() - timedelta(days=31 - day)] for day in range(31)]
    assert [point["num_requests"] for point in found["points_before"]] == counted


def test_the_users_and_groups_of_a_period_can_be_chosen(operator: Client, alice: User, bob: User) -> None:
    alice.groups.set([Group.objects.create(name=name) for name in ("red", "blue")])
    save(make_record(1, alice, FIRST), make_record(2, bob, FIRST))
    found = get(operator, **OCTOBER, by="group")
    assert found["users"] == [{"key": str(user.pk), "label": user.username} for user in (alice, bob)]
    assert [choice["key"] for choice in found["user_groups"]] == ["blue", "red"]
    assert {group["label"] for group in found["groups"]} == {"blue, red", "No group"}


@pytest.mark.database
def test_months_and_hours_count_the_same_requests(operator: Client, month: list[UsageRecord]) -> None:
    year = get(operator, first="2026-01-01", last="2026-12-31", zone="Europe/Berlin")
    assert (year["unit"], year["counted_in"], len(year["starts"])) == ("month", "UTC", 12)
    assert year["now"]["num_requests"] == len(month)
    day = get(operator, first="2026-10-25", last="2026-10-25", zone="Europe/Berlin")
    assert (day["unit"], len(day["starts"])) == ("hour", 25)


def test_a_filter_counts_only_what_it_names(operator: Client, month: list[UsageRecord], alice: User) -> None:
    named = get(operator, **OCTOBER, model="a", status="failed", user=alice.pk)
    within = [
        r for r in month if r.accepted_at >= FIRST and r.model == "a" and r.status == "failed" and r.user == alice
    ]
    assert named["now"]["num_requests"] == len(within) > 0
    assert named["speed"]["first_token_us"]["now"]["num"] == len(within)
    assert [group["label"] for group in get(operator, **OCTOBER, by="user", user=alice.pk)["groups"]] == ["alice"]


def test_a_group_counts_its_users(operator: Client, month: list[UsageRecord], alice: User) -> None:
    alice.groups.add(Group.objects.create(name="research"), Group.objects.create(name="=cmd()"))
    labels = {each["label"]: each["now"]["num_requests"] for each in get(operator, **OCTOBER, by="group")["groups"]}
    assert labels.keys() == {"=cmd(), research", "No group"}
    assert get(operator, **OCTOBER, group="research")["now"]["num_requests"] == labels["=cmd(), research"]
    response = operator.get("/api/usage/all", {"group": "nobody"})
    assert (response.status_code, response.json()["error"]["field"]) == (400, "group")


def test_others_are_added_up(operator: Client) -> None:
    users = [User.objects.create(username=f"user-{number}") for number in range(12)]
    save(*(make_record(number, user, FIRST, cost_nano=100 - number) for number, user in enumerate(users)))
    groups = get(operator, **OCTOBER, by="user")["groups"]
    assert [group["label"] for group in groups] == [*(f"user-{n}" for n in range(6)), "6 others"]
    assert groups[-1]["now"]["cost"][0]["nano"] == sum(100 - n for n in range(6, 12))


def test_amounts_of_two_currencies_are_never_added(operator: Client, alice: User) -> None:
    unpriced = make_record(3, alice, FIRST, currency="", cost_nano=None, saved_nano=None, price_version="unpriced")
    save(make_record(1, alice, FIRST, currency="EUR", cost_nano=7), make_record(2, alice, FIRST, cost_nano=5), unpriced)
    now = get(operator, **OCTOBER)["now"]
    assert now["cost"] == [{"currency": "EUR", "nano": 7}, {"currency": "USD", "nano": 5}]
    assert now["num_unpriced"] == 1


def test_users_see_their_own_usage_only(month: list[UsageRecord], alice: User) -> None:
    found = get(sign_in(alice), "/api/usage", **OCTOBER, by="user")
    assert [group["label"] for group in found["groups"]] == ["alice"]
    assert found["now"]["num_requests"] == sum(r.user == alice and r.accepted_at >= FIRST for r in month)
    assert (found["num_users"], len(found["leaders"])) == (1, 1)
    refused = sign_in(alice).get("/api/usage/all")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert Client().get("/api/usage").status_code == 401


def test_a_users_models_stand_beside_those_of_all(operator: Client, alice: User, bob: User) -> None:
    save(
        make_record(1, alice, FIRST, model="large", cost_nano=900, uncached_input=100),
        make_record(2, alice, FIRST, model="small", cost_nano=100),
        make_record(3, bob, FIRST, model="small", cost_nano=200),
        make_record(4, bob, FIRST - timedelta(days=40), model="old"),
    )
    path = f"/api/usage/all/users/{alice.pk}/models"
    found = get(operator, path, **OCTOBER)
    costs = {name: {each["model"]: each["now"]["cost"][0]["nano"] for each in found[name]} for name in found}
    assert costs == {"own": {"large": 900, "small": 100}, "all": {"large": 900, "small": 300}}
    assert found["own"][0]["now"]["uncached_input"] == 100
    assert [each["model"] for each in get(operator, path, **OCTOBER, model="small")["all"]] == ["small"]
    assert get(operator, "/api/usage/all/users/999999/models", **OCTOBER)["own"] == []
    assert sign_in(alice).get(path).status_code == 403


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ({"zone": "Mars/Olympus"}, "zone", "name of a time zone"),
        ({"zone": "../../etc/passwd"}, "zone", "name of a time zone"),
        ({"first": "2026-02-30"}, "first", "first"),
        ({"first": "2026-02-02", "last": "2026-02-01"}, "first", "Swap the days"),
        ({"first": "2000-01-01", "last": "2026-01-01"}, "first", "the limit is 3,660"),
        ({"last": "0001-01-01"}, "first", ""),
        ({"by": "colour"}, "by", "model"),
    ],
    ids=str,
)
def test_a_bad_period_is_refused_by_name(operator: Client, query: dict[str, str], field: str, words: str) -> None:
    response = operator.get("/api/usage/all", query)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["field"]) == (400, "invalid", field)
    assert words in error["message"]


def test_a_period_without_requests_is_empty(operator: Client) -> None:
    found = get(operator)
    assert found["now"]["num_requests"] == 0
    assert (found["groups"], found["causes"], found["speed"]["queue_us"]["now"]) == ([], [], None)
    assert len(found["starts"]) == 30


def test_a_cause_and_a_verdict_narrow_the_report(operator: Client, alice: User) -> None:
    save(
        make_record(1, alice, FIRST, status="refused", error_code="queue_full", verdict=""),
        make_record(2, alice, FIRST, verdict="flag"),
        make_record(3, alice, FIRST, verdict="allow"),
    )
    by_cause = get(operator, "/api/usage/all", **OCTOBER, code="queue_full")
    assert (by_cause["now"]["num_requests"], by_cause["leaders"][0]["now"]["num_requests"]) == (1, 1)
    by_verdict = get(operator, "/api/usage/all", **OCTOBER, verdict="flag")
    assert [each["verdict"] for each in by_verdict["verdicts"] if each["num"]] == ["flag"]
