"""Requests that come by a key carry it: in their row, in their log, in the record of use, and in runs of a set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from inference.protocol.codec import decode_frame
from inference.protocol.events import Frame, GatewayChecked
from tests.webapp.identity.keys.programs import new_key, program
from tests.webapp.inputs import asked
from tests.webapp.registered import CONFIGURED, beat, registered
from webapp.identity.keys.keys import New
from webapp.lifecycle.settle import settle
from webapp.requests import services
from webapp.requests.models import Request
from webapp.surfaces.runs.advance import advance
from webapp.traces import store
from webapp.usage.limits.models import Rule
from webapp.usage.models import UsageRecord

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"
GOLDEN = Path(__file__).parents[3] / "golden" / "logs" / "finished.json"


@pytest.fixture(autouse=True)
def worker(redis_client: redis.Redis) -> redis.Redis:
    """One is ready, by its heartbeat; nothing takes the tasks."""
    beat(redis_client, "test:1", CONFIGURED)
    return redis_client


def send(client: Client, text: str = "Hello") -> Any:
    conversation = client.post("/api/conversations", {}, content_type=JSON).json()["id"]
    return client.post(f"/api/conversations/{conversation}/messages", {"text": text}, content_type=JSON)


def principal_of(request: Request) -> str:
    events = (event for frame in services.event_log().read(request.pk) for event in frame.events)
    return next(event.principal for event in events if isinstance(event, GatewayChecked))


def saved_request(owner: User) -> Request:
    done = Request.Status.DONE
    request = Request.objects.create(
        user=owner, surface="chat", model=CONFIGURED, input=asked("What?"), finished_at=timezone.now(), status=done
    )
    frames: list[Frame] = [decode_frame(json.dumps(each)) for each in json.loads(GOLDEN.read_text("utf-8"))["frames"]]
    store.save(request, frames)
    return request


@pytest.fixture
def new() -> New:
    return new_key("carol")


def test_a_request_carries_its_key_to_the_record_of_use(new: New) -> None:
    assert send(program(new.secret)).status_code == 201
    request = Request.objects.get()
    assert request.key == new.key and principal_of(request) == f"key:{new.key.prefix}"
    assert request.principal == f"user:{new.key.user_id}"  # caches and turns are the user's, with any key
    settle(request.pk)
    assert UsageRecord.objects.get().key == new.key


def test_a_sign_in_leaves_no_key() -> None:
    client = Client()
    client.force_login(User.objects.create_user("bob"))
    assert send(client).status_code == 201
    request = Request.objects.get()
    assert request.key is None and principal_of(request) == request.principal


def test_another_answer_carries_the_key_of_its_own_call(new: New) -> None:
    first = send(program(new.secret)).json()["assistant_message"]
    settle(first["request_id"])
    other = new_key("carol")
    again = program(other.secret).post(f"/api/messages/{first['id']}/regenerate", {}, content_type=JSON)
    assert again.status_code == 201
    assert Request.objects.get(pk=again.json()["assistant_message"]["request_id"]).key == other.key


def test_a_refusal_is_recorded_with_the_key(new: New) -> None:
    Rule.objects.create(user=new.key.user, is_stopped=True)
    assert send(program(new.secret)).status_code == 403
    record = UsageRecord.objects.get()
    assert (record.status, record.key) == ("refused", new.key)


def test_runs_of_a_set_carry_the_key_that_began_it(new: New) -> None:
    original = saved_request(new.key.user)
    begun = program(new.secret).post(f"/api/requests/{original.pk}/reruns", {}, content_type=JSON)
    assert begun.status_code == 201, begun.content
    advance([begun.json()["id"]])
    run = Request.objects.get(surface="replay")
    assert run.key == new.key and principal_of(run) == f"key:{new.key.prefix}"


def test_a_key_asks_no_model_outside_its_scope() -> None:
    registered("another")
    key = new_key("carol", models=["another"])
    client, original = program(key.secret), saved_request(key.key.user)
    num = Request.objects.count()
    for answer in (
        send(client),
        client.post(f"/api/requests/{original.pk}/reruns", {}, content_type=JSON),
        client.post(f"/api/requests/{original.pk}/probes", {"kind": "lens", "position": 1}, content_type=JSON),
    ):
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["field"]) == (403, "out_of_scope", "model")
    assert Request.objects.count() == num and not UsageRecord.objects.exists()


def test_use_outlives_its_key(new: New) -> None:
    send(program(new.secret))
    request = Request.objects.get()
    settle(request.pk)
    new.key.delete()
    assert Request.objects.get().key is None and UsageRecord.objects.get().key is None
