"""New conversations begin with the features that their user has set. Each request travels with its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.surfaces.chat.exported import as_bytes, claude
from webapp.lifecycle.generation_request import generation_request
from webapp.lifecycle.tasks import prepare
from webapp.lifecycle.tool_flags import again
from webapp.requests import services
from webapp.requests.models import Request
from webapp.surfaces.chat.imports.files import FileLimits, read_file
from webapp.surfaces.chat.imports.store import rows_of
from webapp.surfaces.chat.imports.tree import grow
from webapp.surfaces.chat.models import NewChats

pytestmark = pytest.mark.django_db(transaction=True)
CHOSEN = {"tools": ["calculator"], "memory": False, "speculation": False}


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create_user(name))
    return client


@pytest.fixture
def alice(redis_client: object) -> Client:
    return signed_in("alice")


def called(by: Client, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
    response = by.generic(method, path, json.dumps(body), content_type="application/json")
    return response.status_code, response.json()


def features(of: dict[str, Any]) -> dict[str, Any]:
    return {name: of[name] for name in CHOSEN}


def begun(by: Client, **settings: object) -> dict[str, Any]:
    status, found = called(by, "POST", "/api/conversations", settings)
    assert status == 201, found
    return found


def test_new_conversations_begin_as_chosen_and_older_ones_stay(alice: Client) -> None:
    usual = {"tools": [], "memory": True, "speculation": True}
    assert called(alice, "GET", "/api/new-chats") == (200, usual)
    older = begun(alice)
    assert features(older) == usual
    assert called(alice, "PUT", "/api/new-chats", CHOSEN) == (200, CHOSEN)
    assert features(begun(alice)) == CHOSEN
    assert features(called(alice, "GET", f"/api/conversations/{older['id']}")[1]) == usual
    assert features(begun(signed_in("bob"))) == usual


def test_what_a_conversation_is_given_goes_before_the_choice(alice: Client) -> None:
    called(alice, "PUT", "/api/new-chats", CHOSEN)
    assert features(begun(alice, tools=[], speculation=True)) == CHOSEN | {"tools": [], "speculation": True}


def test_a_tool_that_there_is_not_is_refused_by_name(alice: Client) -> None:
    status, refused = called(alice, "PUT", "/api/new-chats", CHOSEN | {"tools": ["shell"]})
    assert (status, refused["error"]["field"]) == (400, "tools")
    assert called(alice, "GET", "/api/new-chats")[1]["tools"] == []


def test_a_tool_that_is_offered_no_longer_is_in_the_way_of_nothing(alice: Client) -> None:
    NewChats.objects.create(user=User.objects.get(username="alice"), tools=["files__gone"])
    assert begun(alice)["tools"] == begun(alice, tools=["files__gone"])["tools"] == ["files__gone"]
    assert called(alice, "PUT", "/api/new-chats", CHOSEN | {"tools": ["files__gone"]})[0] == 200


def test_an_imported_conversation_has_the_memory_and_speculation_of_new_ones(alice: Client) -> None:
    called(alice, "PUT", "/api/new-chats", CHOSEN)
    (item,) = read_file("conversations.json", as_bytes(claude()), FileLimits())
    assert item.draft is not None
    made = rows_of(User.objects.get().pk, grow(item.draft), 0.0, "m").conversation
    assert (made.tools, made.memory, made.speculation) == ([], False, False)


def test_a_request_travels_with_the_features_of_its_conversation(alice: Client) -> None:
    found = begun(alice, **CHOSEN)
    path = f"/api/conversations/{found['id']}"
    request = sent(alice, path)
    assert request.input.features == ("tool:calculator", "speculation:off")
    assert again(request.input.features) == ("tool:calculator", "speculation:off")
    prepare(request.pk)
    events = [event for frame in services.event_log().read(request.pk) for event in frame.events]
    assert not generation_request(request, events).may_guess
    Request.objects.all().delete()
    assert called(alice, "PATCH", path, {"tools": [], "speculation": True})[1]["speculation"] is True
    assert sent(alice, f"/api/conversations/{begun(alice)['id']}").input.features == ()


def sent(by: Client, path: str) -> Request:
    status, found = called(by, "POST", f"{path}/messages", {"text": "Hello"})
    assert status == 201, found
    return Request.objects.get(pk=found["assistant_message"]["request_id"])
