"""One message answered under several settings at once."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.webapp.surfaces.chat.test_forks import post, sign_in
from webapp.requests.models import Request
from webapp.surfaces.chat.models import MAX_ANSWERS

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice(redis_client: object) -> Client:
    return sign_in("alice")


def race(client: Client, each: object, **more: object) -> tuple[int, Any]:
    _, conversation = post(client, "/api/conversations", {"n": 3})
    path = f"/api/conversations/{conversation['id']}/messages"
    return post(client, path, {"text": "Hello", "params_each": each, **more})


def test_each_answer_has_its_own_settings_and_its_own_request(alice: Client) -> None:
    status, sent = race(alice, [{"temperature": 0.2, "seed": 7}, {"temperature": 1.0, "seed": 7}])

    assert status == 201
    answers = [sent["assistant_message"], *sent["siblings"]]
    assert len(answers) == 2
    requests = [Request.objects.get(pk=answer["request_id"]) for answer in answers]
    assert [request.params["temperature"] for request in requests] == [0.2, 1.0]
    assert [request.params["seed"] for request in requests] == [7, 7]
    assert {answer["parent_id"] for answer in answers} == {sent["user_message"]["id"]}


def test_an_answer_without_a_seed_gets_one(alice: Client) -> None:
    _, sent = race(alice, [{"temperature": 0.2}, {"temperature": 0.2}])

    answers = [sent["assistant_message"], *sent["siblings"]]
    seeds = [Request.objects.get(pk=answer["request_id"]).params["seed"] for answer in answers]
    assert None not in seeds
    assert len(set(seeds)) == 2


@pytest.mark.parametrize(
    ("each", "more"),
    [
        ([], {}),
        ([{}] * (MAX_ANSWERS + 1), {}),
        ([{}, {}], {"n": 2}),
        ([{}, {}], {"params": {"temperature": 1.0}}),
        ([{}, {}], {"is_stepped": True}),
        ([{}, {"temperature": -1.0}], {}),
    ],
    ids=["none", "too many", "n", "params", "step mode", "wrong settings"],
)
def test_what_cannot_race_is_refused_and_nothing_is_begun(alice: Client, each: object, more: dict[str, object]) -> None:
    status, answer = race(alice, each, **more)

    assert status == 400, answer
    assert not Request.objects.exists()


def test_nobody_races_in_the_conversation_of_another(alice: Client) -> None:
    _, conversation = post(alice, "/api/conversations", {})
    bob = sign_in("bob")

    status, _ = post(bob, f"/api/conversations/{conversation['id']}/messages", {"text": "Hi", "params_each": [{}]})

    assert status == 404
    assert not Request.objects.exists()
