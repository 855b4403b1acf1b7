"""The API of memories: its owner alone reads and changes them, and what cannot be saved is refused in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from webapp.content.memory import memories
from webapp.content.memory.models import MAX_CHARS, Memory

pytestmark = pytest.mark.django_db


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create_user(name))
    return client


@pytest.fixture
def alice() -> Client:
    return signed_in("alice")


@pytest.fixture
def bob() -> Client:
    return signed_in("bob")


def called(by: Client, method: str, path: str = "", body: object = None) -> tuple[int, Any]:
    response = by.generic(method, f"/api/memory{path}", json.dumps(body), content_type="application/json")
    return response.status_code, response.json() if response.content else None


def texts(by: Client, query: str = "") -> list[str]:
    return [memory["text"] for memory in called(by, "GET", query)[1]["memories"]]


def test_a_memory_is_saved_edited_disabled_and_deleted(alice: Client) -> None:
    status, made = called(alice, "POST", body={"text": "  I like tea\n"})
    assert (status, made["text"], made["is_enabled"], made["message_id"]) == (201, "I like tea", True, None)
    path = f"/{made['id']}"
    status, edited = called(alice, "PATCH", path, {"text": "I like coffee"})
    assert (status, edited["text"], edited["is_enabled"]) == (200, "I like coffee", True)
    assert called(alice, "PATCH", path, {"is_enabled": False})[1]["is_enabled"] is False
    assert texts(alice) == ["I like coffee"]
    assert called(alice, "DELETE", path) == (204, None)
    assert texts(alice) == [] and not Memory.objects.exists()
    assert called(alice, "DELETE", path)[0] == 404


def test_memories_are_searched_by_meaning_with_their_similarity(alice: Client) -> None:
    for text in ("My car is blue", "I like tea"):
        called(alice, "POST", body={"text": text})
    first, second = called(alice, "GET", "?q=hot+drinks")[1]["memories"]
    assert (first["text"], second["text"]) == ("I like tea", "My car is blue")
    assert 1 > first["similarity"] > second["similarity"]
    assert [each["similarity"] for each in called(alice, "GET")[1]["memories"]] == [None, None]


def test_a_text_is_remembered_once_and_again_when_it_was_disabled(alice: Client) -> None:
    made = called(alice, "POST", body={"text": "I like tea"})[1]
    called(alice, "PATCH", f"/{made['id']}", {"is_enabled": False})
    again = called(alice, "POST", body={"text": "I like tea"})[1]
    assert (again["id"], again["is_enabled"]) == (made["id"], True)
    assert called(alice, "GET")[1]["num"] == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [("x" * (MAX_CHARS + 1), "2,000 characters"), ("x" * (1 << 20), "1,048,576"), (" \n", "empty")],
)
def test_what_is_no_memory_is_refused_in_words(alice: Client, text: str, words: str) -> None:
    status, refused = called(alice, "POST", body={"text": text})
    assert (status, refused["error"]["field"]) == (400, "text") and words in refused["error"]["message"]
    made = called(alice, "POST", body={"text": "I like tea"})[1]
    assert called(alice, "PATCH", f"/{made['id']}", {"text": text})[0] == 400
    assert texts(alice) == ["I like tea"]


def test_no_more_than_the_limit_is_kept(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "MOST", 1)
    called(alice, "POST", body={"text": "I like tea"})
    status, refused = called(alice, "POST", body={"text": "I like coffee"})
    assert status == 400 and "limit" in refused["error"]["message"]


def test_nothing_is_saved_while_memory_is_off(alice: Client) -> None:
    assert called(alice, "GET")[1]["mode"] == "ask"
    called(alice, "POST", body={"text": "I like tea"})
    assert called(alice, "PUT", "/mode", {"mode": "off"}) == (200, {"mode": "off"})
    status, refused = called(alice, "POST", body={"text": "I like coffee"})
    assert (status, refused["error"]["code"]) == (409, "memory_off")
    assert texts(alice) == ["I like tea"]
    assert called(alice, "PUT", "/mode", {"mode": "sometimes"})[0] == 400


def test_all_are_cleared_at_once_and_only_ones_own(alice: Client, bob: Client) -> None:
    for client in (alice, bob):
        called(client, "POST", body={"text": "I like tea"})
        called(client, "POST", body={"text": "I like coffee"})
    assert called(alice, "DELETE") == (200, {"num": 2})
    assert (texts(alice), len(texts(bob))) == ([], 2)


def test_another_users_memory_is_not_there(alice: Client, bob: Client) -> None:
    made = called(alice, "POST", body={"text": "I like tea"})[1]
    path = f"/{made['id']}"
    assert called(bob, "PATCH", path, {"text": "mine now"})[0] == 404
    assert called(bob, "DELETE", path)[0] == 404
    assert texts(bob) == texts(bob, "?q=tea") == []
    assert b"tea" not in bob.get("/api/memory/export").content
    called(bob, "PUT", "/mode", {"mode": "off"})
    assert called(alice, "GET")[1]["mode"] == "ask" and texts(alice) == ["I like tea"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("POST", ""), ("DELETE", ""), ("PUT", "/mode"), ("GET", "/export"), ("DELETE", "/mem_x")],
)
def test_memories_need_a_sign_in(method: str, path: str) -> None:
    assert called(Client(), method, path, {})[0] == 401


def test_a_message_of_another_user_is_no_source(alice: Client, bob: Client) -> None:
    from webapp.surfaces.chat.models import Conversation, Message

    own = User.objects.get(username="alice")
    message = Message.objects.create(conversation=Conversation.objects.create(user=own, model="m"), role="user")
    body = {"text": "I like tea", "message_id": message.pk}
    assert called(bob, "POST", body=body)[0] == 404
    made = called(alice, "POST", body=body)[1]
    assert (made["message_id"], made["conversation_id"]) == (message.pk, message.conversation_id)
    message.conversation.delete()
    assert called(alice, "GET")[1]["memories"][0]["conversation_id"] is None


def test_the_export_has_all_memories_and_no_vector(alice: Client) -> None:
    for text in ("I like tea", "My car is blue"):
        called(alice, "POST", body={"text": text})
    response = alice.get("/api/memory/export")
    assert "attachment" in response["Content-Disposition"]
    document = json.loads(response.content)
    assert [memory["text"] for memory in document["memories"]] == ["I like tea", "My car is blue"]
    assert "vector" not in document["memories"][0]


def test_the_memories_go_with_their_user(alice: Client) -> None:
    called(alice, "POST", body={"text": "I like tea"})
    User.objects.get(username="alice").delete()
    assert not Memory.objects.exists()


def test_a_misspelt_filter_is_refused_and_does_not_show_everything(alice: Client) -> None:
    status, answer = called(alice, "GET", "?qq=tea")
    assert (status, answer["error"]["field"]) == (400, "qq")
    assert "takes: q, after" in answer["error"]["message"]
    assert called(alice, "GET", "/mode?mode=on")[0] in (400, 405)
