"""Memories in a chat: saved as the mode says, and in the prompts of messages that are about them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from tests.webapp.surfaces.chat.test_tools import begin, called
from webapp.content.memory.models import Memory
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice(redis_client: object) -> Client:
    client = Client()
    client.force_login(User.objects.create_user("alice"))
    return client


def send(by: Client, conversation: str, text: str, **more: object) -> tuple[Request, dict[str, Any]]:
    status, sent = called(by, "POST", f"/api/conversations/{conversation}/messages", {"text": text, **more})
    assert status == 201, sent
    return Request.objects.get(pk=sent["assistant_message"]["request_id"]), sent


def answered(request: Request) -> None:
    Request.objects.filter(pk=request.pk).update(status="done", finished_at=timezone.now(), output_text="Yes.")


def choose(by: Client, mode: str) -> None:
    assert called(by, "PUT", "/api/memory/mode", {"mode": mode})[0] == 200


def save(by: Client, text: str) -> str:
    return str(called(by, "POST", "/api/memory", {"text": text})[1]["id"])


def memory_parts(request: Request) -> list[str]:
    return [message.source for message in request.input.messages if message.kind == "memory"]


def test_nothing_is_saved_before_the_user_says_so(alice: Client) -> None:
    _, sent = send(alice, begin(alice), "remember that I like tea")
    assert (sent["memory"]["kind"], sent["memory"]["text"], sent["memory"]["memory"]) == ("ask", "I like tea", None)
    assert not Memory.objects.exists()


def test_mode_on_saves_at_once_and_says_so(alice: Client) -> None:
    choose(alice, "on")
    conversation = begin(alice)
    _, sent = send(alice, conversation, "remember that I like tea")
    saved = sent["memory"]["memory"]
    assert (sent["memory"]["kind"], saved["text"], saved["conversation_id"]) == ("saved", "I like tea", conversation)
    assert Memory.objects.get().message_id == sent["user_message"]["id"]


def test_a_message_posted_again_asks_nothing_again(alice: Client) -> None:
    choose(alice, "on")
    path = f"/api/conversations/{begin(alice)}/messages"
    body = b'{"text": "remember that I like tea"}'
    post = {"content_type": "application/json", "HTTP_IDEMPOTENCY_KEY": "a-key-of-the-page-1234"}
    first = alice.post(path, body, **post)  # type: ignore[arg-type]
    assert first.json()["memory"]["kind"] == "saved"
    Memory.objects.all().delete()
    again = alice.post(path, body, **post)  # type: ignore[arg-type]
    assert (again["Idempotent-Replayed"], again.json()["memory"]) == ("true", None)
    assert not Memory.objects.exists()


def test_forgetting_lists_what_is_meant_and_deletes_nothing(alice: Client) -> None:
    tea = save(alice, "I like tea")
    save(alice, "My car is blue")
    _, sent = send(alice, begin(alice), "forget tea")
    assert sent["memory"]["kind"] == "forget"
    assert [(each["id"], each["similarity"] > 0.3) for each in sent["memory"]["matches"]] == [(tea, True)]
    assert Memory.objects.count() == 2


def test_a_text_that_is_too_long_is_refused_in_words(alice: Client) -> None:
    _, sent = send(alice, begin(alice), "remember: " + "tea " * 600)
    assert sent["memory"]["kind"] == "refused" and "2,000 characters" in sent["memory"]["problem"]


@pytest.mark.parametrize("by", ["mode", "conversation"])
def test_nothing_is_saved_or_used_where_memory_is_off(alice: Client, by: str) -> None:
    save(alice, "I like tea")
    choose(alice, "off" if by == "mode" else "on")
    conversation = begin(alice, memory=by != "conversation")
    request, sent = send(alice, conversation, "remember that I drink tea")
    assert sent["memory"] is None and Memory.objects.count() == 1
    assert (memory_parts(request), request.input.features, request.input.recalled) == ([], (), None)


def test_a_message_gets_the_memories_that_it_is_about(alice: Client) -> None:
    tea = save(alice, "I like tea")
    save(alice, "My car is a blue Skoda Octavia")
    conversation = begin(alice, system_prompt="Be brief.", tools=["calculator"])
    request, _ = send(alice, conversation, "What should I drink this afternoon?")
    system, tools, memory, question = request.input.messages
    assert (system.kind, tools.kind, memory.kind, question.role) == ("system", "tools", "memory", "user")
    assert (memory.role, memory.source, memory.is_continued) == ("system", f"memory:{tea}", True)
    assert "- I like tea\n" in memory.content and "Skoda" not in memory.content
    assert request.input.features == ("tool:calculator", "memory")
    assert request.input.recalled is not None and request.input.recalled.num_considered == 2
    assert Memory.objects.exclude(used_at=None).get().pk == tea


def test_the_prompt_of_the_next_turn_begins_alike(alice: Client) -> None:
    tea, car = save(alice, "I like tea"), save(alice, "My car is a blue Skoda Octavia")
    conversation = begin(alice)
    first, sent = send(alice, conversation, "What should I drink this afternoon?")
    answered(first)
    second, sent = send(alice, conversation, "Thank you", parent_id=sent["assistant_message"]["id"])
    assert second.input.messages[0].content == first.input.messages[0].content
    answered(second)
    third, _ = send(alice, conversation, "Which car do I drive?", parent_id=sent["assistant_message"]["id"])
    assert memory_parts(third) == [f"memory:{tea},{car}"]
    kept = [item.is_kept for item in third.input.recalled.items]
    assert kept == [True, False]


def test_a_deleted_memory_leaves_the_next_prompt(alice: Client) -> None:
    tea = save(alice, "I like tea")
    conversation = begin(alice)
    first, sent = send(alice, conversation, "What should I drink this afternoon?")
    assert memory_parts(first) == [f"memory:{tea}"]
    answered(first)
    called(alice, "PATCH", f"/api/memory/{tea}", {"is_enabled": False})
    second, _ = send(alice, conversation, "What else to drink?", parent_id=sent["assistant_message"]["id"])
    assert memory_parts(second) == []


def test_another_users_memory_is_in_no_prompt(alice: Client) -> None:
    save(alice, "I like tea")
    bob = Client()
    bob.force_login(User.objects.create_user("bob"))
    request, _ = send(bob, begin(bob), "What should I drink? I like tea")
    assert memory_parts(request) == [] and request.input.recalled is None


def test_a_preview_has_the_memories_and_marks_none_as_used(alice: Client) -> None:
    tea = save(alice, "I like tea")
    status, shown = called(alice, "POST", "/api/conversations/preview", {"text": "What should I drink?"})
    assert status == 200
    assert [each["source"] for each in shown["segments"] if each["kind"] == "memory"] == [f"memory:{tea}"]
    without = {"text": "What should I drink?", "memory": False}
    status, shown = called(alice, "POST", "/api/conversations/preview", without)
    assert "memory" not in [each["kind"] for each in shown["segments"]]
    assert Memory.objects.get().used_at is None


def test_a_conversation_turns_memory_off_for_itself(alice: Client) -> None:
    conversation = begin(alice)
    status, changed = called(alice, "PATCH", f"/api/conversations/{conversation}", {"memory": False})
    assert (status, changed["memory"]) == (200, False)
    assert called(alice, "GET", f"/api/conversations/{conversation}")[1]["memory"] is False
