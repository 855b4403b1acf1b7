"""Limits of single keys: they bind beside their user's, count that key's requests alone, and are named in refusals."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from tests.webapp.identity.keys.programs import new_key, program
from tests.webapp.registered import CONFIGURED, beat
from tests.webapp.usage.limits.test_admission import OUTPUT_NANO, client_of, runs
from tests.webapp.usage.test_report import make_record, save
from webapp.identity.keys.keys import New
from webapp.lifecycle.admission import admit
from webapp.usage.limits.models import Rule, SharedRule
from webapp.usage.limits.refusal import Refused

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"
ANTHROPIC = {"anthropic-version": "2023-06-01"}
MESSAGE = {"model": CONFIGURED, "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture(autouse=True)
def _worker(redis_client: redis.Redis) -> None:
    """One is ready, by its heartbeat; nothing takes the tasks."""
    beat(redis_client, "test:1", CONFIGURED)


@pytest.fixture
def new() -> New:
    return new_key("carol")


def limit(new: New, **amounts: int) -> SharedRule:
    return SharedRule.objects.create(subject=new.key.principal, key=new.key, **amounts)


def begin(new: New, num_output: int = 1) -> None:
    """Raises Refused."""
    (request,), charges = runs(new.key.user, 1, most_output=num_output)
    request.key = new.key
    with transaction.atomic():
        admit([request], charges, is_stepped=False)
        request.save(force_insert=True)


def chat(client: Client) -> Any:
    conversation = client.post("/api/conversations", "{}", JSON).json()["id"]
    return client.post(f"/api/conversations/{conversation}/messages", json.dumps({"text": "Hi"}), JSON)


def test_a_rate_of_a_key_binds_that_key_alone(new: New) -> None:
    limit(new, requests_per_minute=1)
    assert chat(program(new.secret)).status_code == 201
    refused = chat(program(new.secret))
    assert refused.status_code == 429
    assert "the limit of your key of 1 request a minute" in refused.json()["error"]["message"]
    assert chat(program(new_key(new.key.user).secret)).status_code == 201
    assert chat(client_of(new.key.user)).status_code == 201


@pytest.mark.parametrize(
    ("path", "headers", "header"),
    [
        ("/v1/messages", ANTHROPIC, "anthropic-ratelimit-requests-limit"),
        ("/v1/chat/completions", {}, "x-ratelimit-limit-requests"),
    ],
)
def test_both_families_name_the_key_and_its_rate(new: New, path: str, headers: dict[str, str], header: str) -> None:
    limit(new, requests_per_minute=1)
    assert chat(program(new.secret)).status_code == 201
    answer = program(new.secret).post(path, json.dumps(MESSAGE), JSON, headers=headers)
    assert answer.status_code == 429
    assert "the limit of your key" in answer.json()["error"]["message"]
    assert answer[header] == "1"


def test_the_limits_of_the_user_bind_beside_those_of_the_key(new: New) -> None:
    limit(new, requests_per_minute=100)
    Rule.objects.create(user=new.key.user, requests_per_minute=1)
    assert chat(program(new.secret)).status_code == 201
    assert "your limit of 1 request" in chat(program(new.secret)).json()["error"]["message"]


@pytest.mark.database
def test_open_requests_of_a_key(new: New) -> None:
    limit(new, max_open=1)
    begin(new)
    with pytest.raises(Refused, match="Your key has 1 of 1 requests open"):
        begin(new)
    begin(new_key(new.key.user))


@pytest.mark.database
def test_budgets_of_a_key_count_what_it_spent_and_reserves(new: New) -> None:
    limit(new, daily_budget_nano=3 * 100 * OUTPUT_NANO)
    save(make_record(1, new.key.user, datetime.now(UTC), key=new.key, cost_nano=100 * OUTPUT_NANO))
    save(make_record(2, new.key.user, datetime.now(UTC), cost_nano=100 * OUTPUT_NANO))
    begin(new, 100)
    begin(new, 100)
    with pytest.raises(Refused, match="daily budget of your key"):
        begin(new, 1)


@pytest.mark.parametrize("subject", ["key", "model", "user at model", "group", "site"])
@pytest.mark.database
def test_tokens_of_a_day_bind_each_scope(new: New, subject: str) -> None:
    user = new.key.user
    group = user.groups.create(name="research") if subject == "group" else None
    named = {
        "key": {"key": new.key},
        "model": {"model": CONFIGURED},
        "user at model": {"model": CONFIGURED, "user": user},
        "group": {"group": group},
        "site": {},
    }[subject]
    SharedRule.objects.create(subject=subject, tokens_per_day=45, **named)
    record = make_record(1, user, datetime.now(UTC), key=new.key, model=CONFIGURED, output=4)
    save(record)
    begin(new)
    save(make_record(2, user, datetime.now(UTC), key=new.key, model=CONFIGURED))
    with pytest.raises(Refused) as refused:
        begin(new)
    assert (refused.value.code, refused.value.limit) == ("day_used_up", subject.split()[-1])
    assert 0 < refused.value.retry_after_s <= 86_401


def test_an_owner_sets_the_limits_of_an_own_key_and_removes_them(new: New) -> None:
    client = client_of(new.key.user)
    path = f"/api/keys/{new.key.pk}/limits"
    assert client.put(path, json.dumps({"requests_per_minute": 3}), JSON).json()["limits"]["requests_per_minute"] == 3
    (listed,) = client.get("/api/keys").json()["keys"]
    assert (listed["limits"]["requests_per_minute"], listed["limits"]["max_open"]) == (3, None)
    assert client.put(path, "{}", JSON).status_code == 200
    assert not SharedRule.objects.exists()
    wrong = client.put(path, json.dumps({"requests_per_minute": 0}), JSON)
    assert (wrong.status_code, wrong.json()["error"]["field"]) == (400, "requests_per_minute")


def test_a_key_is_made_with_its_limits_or_not_at_all() -> None:
    client = client_of(User.objects.create_user("dora"))
    made = client.post("/api/keys", json.dumps({"name": "a", "limits": {"tokens_per_day": 9}}), JSON)
    assert (made.status_code, made.json()["key"]["limits"]["tokens_per_day"]) == (201, 9)
    bad = client.post("/api/keys", json.dumps({"name": "b", "limits": {"tokens_per_day": -1}}), JSON)
    assert bad.status_code == 400
    assert len(client.get("/api/keys").json()["keys"]) == 1


def test_each_door_checks_whose_key_it_is(new: New) -> None:
    body = json.dumps({"max_open": 2})
    other = client_of(User.objects.create_user("eve"))
    assert other.put(f"/api/keys/{new.key.pk}/limits", body, JSON).status_code == 404
    assert other.get(f"/api/usage/limits?key={new.key.pk}").status_code == 404
    of_operator = f"/api/users/{new.key.user_id}/keys/{new.key.pk}/limits"
    assert other.put(of_operator, body, JSON).status_code == 403
    assert program(new.secret).put(f"/api/keys/{new.key.pk}/limits", body, JSON).status_code == 403
    root = client_of(User.objects.create_superuser("root"))
    assert root.put(of_operator, body, JSON).json()["limits"]["max_open"] == 2


def test_a_key_sees_its_own_limits_now(new: New) -> None:
    limit(new, requests_per_minute=5)
    found = program(new.secret).get("/api/usage/limits").json()["limits"]
    assert [each["limit"]["limit"] for each in found if each["limit"]["subject"] == "key"] == [5]
    signed_in = client_of(new.key.user)
    assert not [x for x in signed_in.get("/api/usage/limits").json()["limits"] if x["limit"]["subject"] == "key"]
    asked = signed_in.get(f"/api/usage/limits?key={new.key.pk}").json()["limits"]
    assert [each["limit"]["limit"] for each in asked if each["limit"]["subject"] == "key"] == [5]
