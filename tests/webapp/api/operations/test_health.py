"""Health tells every caller a bare status; operators see which part is missing."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import User
from django.db import InterfaceError, connection
from django.test import Client

from inference.eventlog.keys import worker_key

pytestmark = pytest.mark.django_db

_SECRET = "/srv/models/secret.gguf cannot be read"


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("olga"))
    return client


@pytest.fixture
def alice() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("alice"))
    return client


def beat(client: redis.Redis, state: str, message: str = "", model: str = settings.ENVIRONMENT.model_name) -> None:
    client.hset(worker_key("one"), mapping={"state": state, "progress": "1", "message": message, "model": model})


def test_strangers_get_a_bare_status(redis_client: redis.Redis) -> None:
    beat(redis_client, "failed", _SECRET)
    live, ready = Client().get("/healthz"), Client().get("/readyz")
    assert (live.status_code, live.json()) == (200, {"status": "ok"})
    assert (ready.status_code, ready.json()) == (503, {"status": "not ready"})
    beat(redis_client, "ready", model="another")
    assert Client().get("/readyz").status_code == 503
    beat(redis_client, "ready")
    ready = Client().get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})


def test_a_connection_that_is_lost_is_no_failure_of_the_page(redis_client: redis.Redis) -> None:
    beat(redis_client, "ready")

    def lose(*_: Any) -> None:
        raise InterfaceError("connection already closed")

    with connection.execute_wrapper(lose):
        ready = Client().get("/readyz")
    assert (ready.status_code, ready.json()) == (503, {"status": "not ready"})


def test_operators_see_what_is_missing(redis_client: redis.Redis, operator: Client) -> None:
    beat(redis_client, "failed", _SECRET)
    health = operator.get("/api/health").json()
    assert health["status"] == "not ready"
    assert health["checks"] == {"database": True, "redis": True, "worker": False}
    assert health["workers"][0]["message"] == _SECRET
    assert operator.get("/api/session").json()["workers"][0]["message"] == _SECRET


def test_other_users_do_not_see_the_cause(redis_client: redis.Redis, alice: Client) -> None:
    beat(redis_client, "failed", _SECRET)
    assert alice.get("/api/health").status_code == 403
    assert Client().get("/api/health").status_code == 401
    (worker,) = alice.get("/api/session").json()["workers"]
    assert (worker["state"], worker["message"]) == ("failed", "")
