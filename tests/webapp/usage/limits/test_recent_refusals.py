"""A user's refusals are kept for a day: which limit refused and how it stood, without a text."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis
from django.contrib.auth.models import Group, User
from django.test import Client

from tests.webapp.identity.keys.programs import new_key, program
from tests.webapp.registered import CONFIGURED, beat
from tests.webapp.usage.limits.test_admission import client_of, send
from webapp.operations.privacy import keys
from webapp.usage.limits.models import Rule, SharedRule
from webapp.usage.limits.recent_refusals import KEPT_S, MAX_KEPT, note, recent_refusals_of

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"
EMBEDDING = "all-minilm-l6-v2"
MESSAGE = {"model": CONFIGURED, "max_tokens": 5, "messages": [{"role": "user", "content": "A secret"}]}


@pytest.fixture(autouse=True)
def _worker(redis_client: redis.Redis) -> None:
    """One is ready, by its heartbeat; nothing takes the tasks."""
    beat(redis_client, "test:1", CONFIGURED)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


def refusals(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/api/usage/refusals").json()["refusals"]
    return found


def test_a_rate_that_refuses_is_kept_as_it_stood(alice: User) -> None:
    Rule.objects.create(user=alice, requests_per_minute=1)
    assert [send(alice).status_code for _ in range(2)] == [201, 429]
    (found,) = refusals(client_of(alice))
    assert (found["code"], found["surface"], found["model"], found["key"]) == ("rate_limited", "chat", CONFIGURED, "")
    assert (found["limit"]["name"], found["limit"]["subject"]) == ("requests", "user")
    assert (found["limit"]["limit"], found["limit"]["remaining"], found["num_asked"]) == (1, 0, 1)
    assert 0 < found["retry_after_s"] <= 60


def test_the_newest_is_first_and_is_its_users_alone(alice: User) -> None:
    Rule.objects.create(user=alice, max_open=1)
    assert send(alice).status_code == 201
    send(alice, n=2)
    send(alice)
    newest, oldest = refusals(client_of(alice))
    assert [(each["num_requests"], each["retry_after_s"]) for each in (newest, oldest)] == [(1, 5), (2, 0)]
    assert newest["limit"]["name"] == "concurrency"
    assert refusals(client_of(User.objects.create_user("bob"))) == []


def test_waiting_is_not_advised_where_it_does_not_help(alice: User) -> None:
    Rule.objects.create(user=alice, max_open=1)
    refused = send(alice, n=2)
    assert refused.status_code == 429
    assert "Retry-After" not in refused


def test_a_shared_budget_that_refuses_names_whose_it_is(alice: User) -> None:
    alice.groups.add(group := Group.objects.create(name="research"))
    SharedRule.objects.create(subject=f"group:{group.pk}", group=group, monthly_budget_nano=1)
    assert send(alice).status_code == 429
    (found,) = refusals(client_of(alice))
    limit = found["limit"]
    assert (limit["name"], limit["subject"], limit["currency"]) == ("monthly_budget", "group", "USD")
    assert found["num_asked"] > limit["limit"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", MESSAGE),
        ("/v1/messages/count_tokens", {name: MESSAGE[name] for name in ("model", "messages")}),
        ("/v1/embeddings", {"model": EMBEDDING, "input": "A secret"}),
    ],
)
def test_a_keys_refusal_names_the_key_and_holds_no_text(
    alice: User, redis_client: redis.Redis, path: str, body: dict[str, Any]
) -> None:
    new = new_key(alice)
    Rule.objects.create(user=alice, is_stopped=True)
    answer = program(new.secret).post(path, json.dumps(body), JSON, headers={"anthropic-version": "2023-06-01"})
    assert answer.status_code == 403
    (found,) = refusals(client_of(alice))
    assert (found["code"], found["limit"], found["key"]) == ("sending_stopped", None, new.key.prefix)
    assert found["surface"] == ("openai" if path == "/v1/embeddings" else "anthropic")
    kept = b"".join(redis_client.lrange(f"sightglass:refused:{alice.pk}", 0, -1))
    assert b"secret" not in kept


def test_refusals_are_few_and_expire(alice: User, redis_client: redis.Redis) -> None:
    Rule.objects.create(user=alice, is_stopped=True)
    send(alice)
    (refusal,) = recent_refusals_of(alice.pk)
    for _ in range(MAX_KEPT + 5):
        note(alice.pk, refusal)
    assert len(recent_refusals_of(alice.pk)) == MAX_KEPT
    assert 0 < redis_client.ttl(f"sightglass:refused:{alice.pk}") <= KEPT_S


def test_an_old_refusal_is_not_told_where_a_newer_one_keeps_the_list(alice: User) -> None:
    Rule.objects.create(user=alice, is_stopped=True)
    send(alice)
    (refusal,) = recent_refusals_of(alice.pk)
    refusal.at_unix_us -= (KEPT_S + 1) * 10**6
    note(alice.pk, refusal)
    assert len(recent_refusals_of(alice.pk)) == 1


def test_an_erasure_takes_them_away(alice: User) -> None:
    Rule.objects.create(user=alice, is_stopped=True)
    send(alice)
    keys.forget(alice.pk, lambda _: set())
    assert recent_refusals_of(alice.pk) == []


def test_the_limits_of_a_request_are_those_of_its_model_and_key(alice: User) -> None:
    new = new_key(alice)
    SharedRule.objects.create(subject=new.key.principal, key=new.key, requests_per_minute=7)
    client = program(new.secret)
    conversation = client.post("/api/conversations", "{}", JSON).json()["id"]
    sent = client.post(f"/api/conversations/{conversation}/messages", json.dumps({"text": "Hi"}), JSON).json()
    request_id = sent["assistant_message"]["request_id"]
    found = client_of(alice).get("/api/usage/limits", {"request": request_id}).json()["limits"]
    assert [each["limit"]["remaining"] for each in found if each["limit"]["subject"] == "key"] == [6]
    other = client_of(User.objects.create_user("bob")).get("/api/usage/limits", {"request": request_id})
    assert other.status_code == 404


def test_a_lost_redis_does_not_change_the_refusal(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    Rule.objects.create(user=alice, is_stopped=True)

    def fail(*_: object) -> None:
        raise redis.exceptions.ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(redis.client.Pipeline, "execute", fail)
        assert send(alice).status_code == 403
    assert refusals(client_of(alice)) == []
