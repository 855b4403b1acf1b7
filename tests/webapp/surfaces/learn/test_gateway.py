"""The gateway's rehearsal: it refuses as sending a message does, and starts nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from tests.queues import GENERATE
from webapp.requests.models import MAX_IN_FLIGHT, Request

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("alice"))
    return client


def knock(client: Client, **body: object) -> Any:
    return client.post("/api/learn/gateway", json.dumps(body), content_type="application/json")


def test_what_is_in_order_passes_and_starts_nothing(alice: Client, redis_client: redis.Redis) -> None:
    answer = knock(alice, text="Hello", n=2, num_open=3)
    assert answer.status_code == 200
    assert [limit["remaining"] for limit in answer.json()["limits"]] == [MAX_IN_FLIGHT - 3, MAX_IN_FLIGHT - 4]
    assert answer["Server-Timing"].startswith("auth;dur=")
    assert not Request.objects.exists()
    assert redis_client.llen("prepare") == redis_client.llen(GENERATE) == 0


def test_a_full_house_says_when_to_come_again(alice: Client) -> None:
    answer = knock(alice, text="Hello", num_open=MAX_IN_FLIGHT)
    assert (answer.status_code, answer["Retry-After"]) == (429, "5")
    assert answer.json()["error"]["code"] == "too_many_requests"


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"text": " "}, "empty", "text"),
        ({"text": "Hello", "params": {"temperature": 9}}, "invalid", "params.temperature"),
        ({"text": "Hello", "params": {"temprature": 1}}, "invalid", "params.temprature"),
        ({"text": "Hello", "n": 99}, "invalid", "n"),
        ({"text": "Hello", "num_open": -1}, "invalid", "n"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(alice: Client, body: dict[str, Any], code: str, field: str) -> None:
    answer = knock(alice, **body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (400, code, field)


def test_strangers_are_told_to_sign_in() -> None:
    assert knock(Client(), text="Hello").status_code == 401
