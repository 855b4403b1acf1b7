"""The operations of the live page: seen by operators, and a stop that the audit log tells of."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis
from django.contrib.auth.models import Permission, User
from django.test import Client

from inference.eventlog.keys import DRAINED_WORKERS, worker_key
from inference.protocol.events import RequestCancelled
from webapp.ground.audit.listing import Change, listing
from webapp.requests import services
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _redis(redis_client: object) -> None:
    """A running server, empty."""


def operator(*permissions: str) -> Client:
    user = User.objects.create_user("olga")
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def request_of_alice() -> Request:
    client = Client()
    client.force_login(User.objects.create_user("alice"))
    conversation = client.post("/api/conversations", "{}", content_type="application/json").json()["id"]
    path = f"/api/conversations/{conversation}/messages"
    sent = client.post(path, json.dumps({"text": "Hello"}), content_type="application/json").json()
    return Request.objects.get(pk=sent["assistant_message"]["request_id"])


def stop(client: Client, request_id: str) -> Any:
    return client.post(f"/api/live/requests/{request_id}/stop")


def test_only_operators_see_the_workers() -> None:
    assert Client().get("/api/live").status_code == 401
    refused = operator("change_request").get("/api/live")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")


def test_an_operator_sees_the_service() -> None:
    seen = operator("view_usagerecord").get("/api/live").json()
    assert (seen["histories"], seen["now"]["workers"]) == ([], [])
    assert seen["now"]["site"] == {"num_followed": None, "num_prepare": 0, "num_generate": 0, "num_settle": 0}


def test_an_operator_stops_a_users_request_and_the_audit_log_tells_of_it(request_of_alice: Request) -> None:
    client = operator("view_usagerecord", "change_request")
    assert stop(client, request_of_alice.pk).status_code == 202
    request_of_alice.refresh_from_db()
    assert request_of_alice.status == "stopped"
    frames = services.event_log().read(request_of_alice.pk)
    assert [event.by for frame in frames for event in frame.events if isinstance(event, RequestCancelled)] == [
        "operator"
    ]
    entry = listing().entries[0]
    assert (entry.actor, entry.action, entry.subject_kind, entry.subject) == (
        "olga",
        "stopped",
        "request",
        request_of_alice.pk,
    )
    user = str(request_of_alice.user_id)
    # PostgreSQL keeps an order of its own.
    changes = {change.name: change for change in entry.changes}
    assert changes == {"status": Change("status", "queued", "stopping"), "user": Change("user", user, user)}


def test_a_request_that_has_ended_is_not_stopped_again(request_of_alice: Request) -> None:
    client = operator("change_request")
    assert stop(client, request_of_alice.pk).status_code == 202
    num_entries = len(listing().entries)
    again = stop(client, request_of_alice.pk)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "ended")
    assert len(listing().entries) == num_entries


def test_viewing_is_no_permission_to_stop(request_of_alice: Request) -> None:
    refused = stop(operator("view_usagerecord"), request_of_alice.pk)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    request_of_alice.refresh_from_db()
    assert request_of_alice.status == "queued"


def test_only_a_superuser_stops_a_superusers_request(request_of_alice: Request) -> None:
    User.objects.filter(pk=request_of_alice.user_id).update(is_superuser=True)
    refused = stop(operator("change_request"), request_of_alice.pk)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")


def test_an_unknown_request_is_not_found() -> None:
    assert stop(operator("change_request"), "req_none").status_code == 404


def drain(client: Client, name: str, is_drained: bool) -> Any:
    body = json.dumps({"is_drained": is_drained})
    return client.patch(f"/api/live/workers/{name}", body, content_type="application/json")


def test_an_operator_lets_a_worker_drain_and_take_requests_again(redis_client: redis.Redis) -> None:
    client = operator("view_usagerecord", "change_request")
    assert drain(client, "vm:7:1", True).status_code == 404
    redis_client.hset(worker_key("vm:7:1"), "state", "ready")
    assert drain(client, "vm:7:1", True).status_code == 204
    assert redis_client.smembers(DRAINED_WORKERS) == {b"vm:7:1"}
    assert drain(client, "vm:7:1", False).status_code == 204
    assert redis_client.smembers(DRAINED_WORKERS) == set()
    assert [entry.action for entry in listing().entries][:2] == [
        "let worker vm:7:1 take requests again, signed in as",
        "let worker vm:7:1 drain, signed in as",
    ]


def test_others_drain_no_worker(redis_client: redis.Redis) -> None:
    redis_client.hset(worker_key("vm:7:1"), "state", "ready")
    assert drain(operator("view_usagerecord"), "vm:7:1", True).status_code == 403
    assert not redis_client.exists(DRAINED_WORKERS)
