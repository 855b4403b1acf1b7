"""A message sent again under its key: one question, one request, one bill, even if the first reply was lost."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from inference.eventlog.redis_log import RedisEventLog
from inference.tokenization.tokenizer import Tokenizer
from tests.webapp.surfaces.chat.test_forks import answer, ask
from webapp.api.docs.openapi import routes
from webapp.lifecycle.settle import settle
from webapp.lifecycle.start import QueueUnavailable
from webapp.requests.models import Delivery, Request
from webapp.surfaces.chat.models import Message
from webapp.surfaces.runs.models import Rerun

pytestmark = pytest.mark.django_db(transaction=True)


def sign_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get_or_create(username=name)[0])
    return client


def post(client: Client, path: str, body: object, **headers: str) -> tuple[int, dict[str, Any], bool]:
    response = client.post(path, json.dumps(body), content_type="application/json", headers=headers)
    return response.status_code, response.json(), response.headers.get("Idempotent-Replayed") == "true"


@pytest.fixture
def alice(redis_client: object) -> Client:
    return sign_in("alice")


@pytest.fixture
def path(alice: Client) -> str:
    return f"/api/conversations/{post(alice, '/api/conversations', {})[1]['id']}/messages"


def send(by: Client, path: str, key: str, text: str = "Hello", **more: object) -> tuple[int, dict[str, Any], bool]:
    return post(by, path, {"text": text, **more}, **{"Idempotency-Key": key})


def ids(reply: dict[str, Any]) -> list[str]:
    return [each["id"] for each in (reply["user_message"], reply["assistant_message"], *reply["siblings"])]


def test_the_same_key_answers_with_the_first_result(alice: Client, path: str) -> None:
    status, first, is_repeat = send(alice, path, "k", n=2, client={"keydown_unix_us": -5})
    assert (status, is_repeat) == (201, False)
    post(alice, f"/api/messages/{first['assistant_message']['id']}/regenerate", {})
    status, again, is_repeat = send(alice, path, "k", n=2, client={"keydown_unix_us": -900})
    assert (status, is_repeat, ids(again)) == (201, True, ids(first))
    assert Request.objects.count() == 2 + 1
    assert send(alice, path, "l", n=2)[1]["user_message"]["id"] != first["user_message"]["id"]


@pytest.mark.parametrize(
    "other", [{"text": "Other"}, {"n": 2}, {"params": {"temperature": 1.5}}, {"is_stepped": True}], ids=str
)
def test_a_key_of_another_message_is_refused(alice: Client, path: str, other: dict[str, Any]) -> None:
    send(alice, path, "k")
    status, reply, _ = send(alice, path, "k", **other)
    assert (status, reply["error"]["code"]) == (422, "key_reused")
    assert Request.objects.count() == 1


def test_each_user_has_keys_of_their_own_in_all_conversations(alice: Client, path: str) -> None:
    send(alice, path, "k")
    elsewhere = f"/api/conversations/{post(alice, '/api/conversations', {})[1]['id']}/messages"
    assert send(alice, elsewhere, "k")[0] == 422
    bob = sign_in("bob")
    status, reply, is_repeat = send(
        bob, f"/api/conversations/{post(bob, '/api/conversations', {})[1]['id']}/messages", "k"
    )
    assert (status, is_repeat) == (201, False)
    assert reply["user_message"]["id"] not in alice.get(path.removesuffix("/messages")).content.decode()


@pytest.mark.parametrize("key", ["", "a b", "x" * 129, "\u00e9"])
def test_what_is_no_key_is_refused(alice: Client, path: str, key: str) -> None:
    status, reply, _ = send(alice, path, key)
    assert (status, reply["error"]["code"]) == (400, "invalid")
    assert "Idempotency-Key" in reply["error"]["message"]


def test_a_message_that_could_not_be_started_is_sent_under_its_key(
    alice: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise QueueUnavailable

    with monkeypatch.context() as patch:
        patch.setattr("webapp.lifecycle.begin.start", refuse)
        assert send(alice, path, "k")[0] == 503
    status, _, is_repeat = send(alice, path, "k")
    assert (status, is_repeat) == (201, False)


def test_a_repeat_is_told_of_nothing_that_may_be_taken_back(
    alice: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile = []

    def fails(*_: object, **__: object) -> None:
        if not meanwhile:
            meanwhile.append(0)
            meanwhile.append(send(alice, path, "k")[0])
        raise QueueUnavailable

    monkeypatch.setattr("webapp.lifecycle.begin.start", fails)
    assert send(alice, path, "k")[0] == 503
    assert meanwhile[1] == 503
    assert not Delivery.objects.exists()


def test_a_repeat_waits_until_the_first_has_begun(alice: Client, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, read = iter([(), ()]), RedisEventLog.read
    first = send(alice, path, "k")[1]
    monkeypatch.setattr(RedisEventLog, "read", lambda *args: next(looks, read(*args)))
    status, again, is_repeat = send(alice, path, "k")
    assert (status, is_repeat, ids(again)) == (201, True, ids(first))
    assert next(looks, None) is None


def test_a_conversation_tells_the_keys_and_takes_them_along(alice: Client, path: str) -> None:
    send(alice, path, "k")
    post(alice, path, {"text": "Without"})
    shown = alice.get(path.removesuffix("/messages")).json()["messages"]
    assert [each["key"] for each in shown] == ["k", None, None, None]
    alice.delete(path.removesuffix("/messages"))
    assert Delivery.objects.count() == 0


def test_keys_are_forgotten_in_time(alice: Client, path: str) -> None:
    _, old, _ = send(alice, path, "old")
    Delivery.objects.update(created_at=timezone.now() - timedelta(days=8))
    send(alice, path, "new")
    settle(old["assistant_message"]["request_id"])
    assert [each.key for each in Delivery.objects.all()] == ["new"]


@pytest.fixture
def begun(alice: Client, tokenizer: Tokenizer) -> dict[str, str]:
    """An answer that has ended, with its saved trace, and the addresses that begin work with it."""
    request = ask(alice)
    answer(request, tokenizer, "The sky is blue.")
    message = Message.objects.get(request=request)
    return {
        "regenerate": f"/api/messages/{message.pk}/regenerate",
        "fork": f"/api/requests/{request.pk}/fork",
        "reruns": f"/api/requests/{request.pk}/reruns",
    }


BODIES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "regenerate": ({"client": {"keydown_unix_us": -5}}, {"n": 2}),
    "fork": ({"position": 1}, {"position": 2}),
    "reruns": ({"n": 2}, {"n": 3}),
}
"""Of each call that begins work: a body, and another one."""


def ids_of(call: str, reply: dict[str, Any]) -> str:
    return str(reply["id"] if call == "reruns" else reply["assistant_message"]["id"])


@pytest.mark.parametrize("call", BODIES)
def test_each_call_that_begins_work_begins_it_once_under_a_key(alice: Client, begun: dict[str, str], call: str) -> None:
    key, (body, other) = {"Idempotency-Key": "k"}, BODIES[call]
    status, first, is_repeat = post(alice, begun[call], body, **key)
    assert (status, is_repeat) == (201, False), first
    before = Request.objects.count(), Rerun.objects.count()
    for _ in range(3):
        status, again, is_repeat = post(alice, begun[call], body, **key)
        assert (status, is_repeat, ids_of(call, again)) == (201, True, ids_of(call, first))
    status, reply, _ = post(alice, begun[call], other, **key)
    assert (status, reply["error"]["code"]) == (422, "key_reused")
    assert (Request.objects.count(), Rerun.objects.count()) == before


def test_a_key_of_one_call_is_not_the_key_of_another(alice: Client, begun: dict[str, str]) -> None:
    key = {"Idempotency-Key": "k"}
    assert post(alice, begun["regenerate"], {}, **key)[0] == 201
    assert post(alice, begun["reruns"], {}, **key)[0] == 422


def test_what_was_begun_and_is_deleted_is_not_begun_again(alice: Client, begun: dict[str, str]) -> None:
    """The answer's trace may go, and its message stays."""
    key = {"Idempotency-Key": "k"}
    first = post(alice, begun["regenerate"], {}, **key)[1]["assistant_message"]
    settle(first["request_id"])
    alice.delete(f"/api/requests/{first['request_id']}")
    status, again, is_repeat = post(alice, begun["regenerate"], {}, **key)
    assert (status, is_repeat, again["assistant_message"]["id"]) == (201, True, first["id"])


def test_every_operation_that_begins_work_takes_a_key() -> None:
    """They are named by what they raise: all that a user's limits may refuse."""
    taking = {route.key for route in routes() if route.operation.takes_key}
    limited = {route.key for route in routes() if "`sending_stopped`" in route.description}
    assert taking == limited - {"POST /api/account/erasure"} | {"POST /api/batches"}  # its lines are limited one by one
    assert len(taking) >= 4
