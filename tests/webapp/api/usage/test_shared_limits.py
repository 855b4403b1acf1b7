"""Operators set limits that requests share; each user sees the limits of the next request, with a warning."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from tests.webapp.usage.limits.test_admission import MODEL
from tests.webapp.usage.test_report import make_record, save
from webapp.usage.limits.models import Rule, SharedRule

pytestmark = pytest.mark.django_db
PATH = "/api/limits/shared"
NOTHING = {
    "max_open": None,
    "requests_per_minute": None,
    "input_tokens_per_minute": None,
    "output_tokens_per_minute": None,
    "tokens_per_day": None,
    "daily_budget_nano": None,
    "monthly_budget_nano": None,
}


@pytest.fixture(autouse=True)
def _redis(redis_client: object) -> None:
    """The rates' levels are read from a real server."""


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def operator() -> Client:
    user = User.objects.create_user("olga")
    user.user_permissions.add(Permission.objects.get(codename="change_rule"))
    return signed_in(user)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def put(client: Client, **body: Any) -> Any:
    return client.put(PATH, NOTHING | body, "application/json")


def test_a_shared_rule_is_set_changed_and_removed(operator: Client) -> None:
    group = Group.objects.create(name="research")
    assert put(operator, group_id=group.pk, daily_budget_nano=5).json()["rules"][0]["group"] == "research"
    (rule,) = put(operator, group_id=group.pk, requests_per_minute=7).json()["rules"]
    assert (rule["daily_budget_nano"], rule["requests_per_minute"]) == (None, 7)
    assert operator.get(PATH).json()["rules"] == [rule]
    assert put(operator, group_id=group.pk).json()["rules"] == []


def test_each_kind_of_subject_has_its_rule(operator: Client, alice: User) -> None:
    put(operator, max_open=9)
    put(operator, model=MODEL, max_open=8)
    put(operator, model=MODEL, user_id=alice.pk, max_open=7)
    names = sorted(SharedRule.objects.values_list("subject", flat=True))
    assert names == [f"model:{MODEL}", f"model:{MODEL} user:{alice.pk}", "site"]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"max_open": 33}, 400, "max_open"),
        ({"monthly_budget_nano": 0}, 400, "monthly_budget_nano"),
        ({"user_id": 1, "max_open": 1}, 400, "user_id"),
        ({"group_id": 1, "model": MODEL, "max_open": 1}, 400, "group_id"),
        ({"group_id": 10**6, "max_open": 1}, 404, None),
        ({"model": "unknown", "max_open": 1}, 404, None),
    ],
)
def test_what_is_wrong_is_refused(operator: Client, body: dict[str, Any], status: int, field: str | None) -> None:
    answer = put(operator, **body)
    assert (answer.status_code, answer.json()["error"].get("field")) == (status, field)


def test_only_operators_set_them(alice: User) -> None:
    assert put(signed_in(alice), max_open=1).status_code == 403
    assert signed_in(alice).get(PATH).status_code == 403


def test_a_user_sees_each_limit_and_is_warned_at_80_percent(alice: User) -> None:
    Rule.objects.create(user=alice, daily_budget_nano=1000, monthly_budget_nano=2000, requests_per_minute=5)
    SharedRule.objects.create(subject="site", output_tokens_per_minute=600)
    save(make_record(1, alice, datetime.now(UTC), cost_nano=800))
    found = {each["limit"]["name"]: each for each in signed_in(alice).get("/api/usage/limits").json()["limits"]}
    left = {name: (each["limit"]["remaining"], each["is_warned"]) for name, each in found.items()}
    assert left == {
        "concurrency": (8, False),
        "daily_budget": (200, True),
        "monthly_budget": (1200, False),
        "requests": (5, False),
        "output_tokens": (600, False),
    }
    assert (found["output_tokens"]["limit"]["subject"], found["daily_budget"]["limit"]["currency"]) == ("site", "USD")
