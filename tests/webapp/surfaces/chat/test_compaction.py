"""A summary stands for the oldest turns of its branch: it is a request of its own, and undone by deleting it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from inference.protocol.events import ContextAssembled
from webapp.lifecycle import tasks
from webapp.requests import services
from webapp.requests.models import Request
from webapp.surfaces.chat.automatic import compact_if_full
from webapp.surfaces.chat.models import Message, Summary
from webapp.traces import store

pytestmark = pytest.mark.django_db(transaction=True)

SEA = "The sea is wide and blue and full of fish. "


def sign_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get_or_create(username=name)[0])
    return client


@pytest.fixture
def alice(redis_client: object) -> Client:
    return sign_in("alice")


def called(by: Client, method: str, path: str, body: object = None) -> tuple[int, Any]:
    response = by.generic(method, path, json.dumps(body), content_type="application/json")
    return response.status_code, response.json() if response.content else None


class Chat:
    """A conversation whose answers the test writes."""

    def __init__(self, by: Client, **settings: object) -> None:
        self.by = by
        self.path = f"/api/conversations/{called(by, 'POST', '/api/conversations', settings)[1]['id']}"
        self.leaf: str | None = None

    def send(self, text: str, answer: str = "Yes.", max_tokens: int = 100) -> Request:
        """Send a message; its answer ends at once."""
        body = {"text": text, "parent_id": self.leaf, "params": {"max_tokens": max_tokens}}
        status, sent = called(self.by, "POST", f"{self.path}/messages", body)
        assert status == 201, sent
        self.leaf = sent["assistant_message"]["id"]
        return end(sent["assistant_message"]["request_id"], answer)

    def compact(self, keep: int = 1, **more: object) -> tuple[int, Any]:
        return called(self.by, "POST", f"{self.path}/compactions", {"keep": keep, "leaf_id": self.leaf, **more})

    def summarised(self, text: str = "They spoke of the sea.", keep: int = 1) -> dict[str, Any]:
        """A summary that is made."""
        status, made = self.compact(keep)
        assert status == 201, made
        end(made["request_id"], text)
        found: dict[str, Any] = made
        return found

    def shown(self) -> Any:
        return called(self.by, "GET", self.path)[1]


def end(request_id: str, answer: str, status: str = "done") -> Request:
    tasks.prepare(request_id)
    request = Request.objects.get(pk=request_id)
    request.status, request.output_text, request.finished_at = status, answer, timezone.now()
    request.num_output_tokens = len(answer.split())
    request.save()
    services.leases().end(request_id)
    return request


def context_of(request: Request) -> ContextAssembled:
    events = [event for frame in services.event_log().read(request.pk) for event in frame.events]
    [found] = [event for event in events if isinstance(event, ContextAssembled)]
    return found


def kinds(context: ContextAssembled) -> list[str]:
    return [each.kind for each in context.segments if each.kind != "template"]


def test_a_summary_takes_the_place_of_the_oldest_turns_and_all_is_told(alice: Client) -> None:
    chat = Chat(alice, system_prompt="Be brief.", tools=["calculator"])
    for turn in range(3):
        chat.send(f"Question {turn}. {SEA}")
    made = chat.summarised()
    assert (made["state"], made["num_turns"]) == ("open", 2)
    request = chat.send("And now?")
    context = context_of(request)
    assert kinds(context) == ["system", "tools", "summary", "history", "history", "user"]
    [summary] = [each for each in context.segments if each.kind == "summary"]
    assert "They spoke of the sea." in summary.text and summary.source == f"summary:{made['request_id']}"
    assert [each.text[:10] for each in context.summarised if each.text != "Yes."] == ["Question 0", "Question 1"]
    assert sum(each.num_tokens for each in context.summarised) == made["num_tokens_before"]
    assert "summary" in request.input.features  # type: ignore[union-attr]
    [shown] = chat.shown()["summaries"]
    assert (shown["state"], shown["text"]) == ("done", "They spoke of the sea.")
    assert shown["up_to_id"] == Message.objects.get(user_text__startswith="Question 2").parent_id


@pytest.mark.parametrize("reason", ["repetition", "length", "stop"])
def test_a_summary_tells_how_its_generation_ended(alice: Client, reason: str) -> None:
    chat = Chat(alice)
    chat.send("Where is the sea?")
    chat.send("Thanks.")
    made = chat.summarised()
    assert made["finish_reason"] is None
    Request.objects.filter(pk=made["request_id"]).update(finish_reason=reason)
    assert [each["finish_reason"] for each in chat.shown()["summaries"]] == [reason]


def test_the_summary_is_a_request_of_its_own_and_quotes_each_message(alice: Client) -> None:
    chat = Chat(alice)
    chat.send("Where is the sea?", "It is everywhere.")
    chat.send("Thanks.")
    request = Request.objects.get(pk=chat.summarised()["request_id"])
    assert (request.surface, request.user.username) == ("summary", "alice")
    assert request.params["temperature"] < 0.5 and 0 < request.params["max_tokens"] <= 384
    context = context_of(request)
    assert kinds(context) == ["system", "user", "history", "history", "user"]
    quoted = [each for each in context.segments if each.kind == "history"]
    assert [each.text.strip() for each in quoted] == ["User: Where is the sea?", "Assistant: It is everywhere."]
    assert all(each.source.startswith("message:") for each in quoted)


def test_a_second_summary_takes_in_the_first(alice: Client) -> None:
    chat = Chat(alice)
    for turn in range(3):
        chat.send(f"Question {turn}.")
    first = chat.summarised("First summary.", keep=2)
    chat.send("Question 3.")
    second = chat.summarised("Second summary.")
    context = context_of(Request.objects.get(pk=second["request_id"]))
    [taken] = [each for each in context.segments if each.kind == "summary"]
    assert "First summary." in taken.text and taken.source == f"summary:{first['request_id']}"
    assert second["num_turns"] == 3
    texts = [each.text for each in context_of(chat.send("Now?")).segments if each.kind == "summary"]
    assert len(texts) == 1 and "Second summary." in texts[0]


def test_undo_and_an_earlier_branch_have_the_turns_again(alice: Client) -> None:
    chat = Chat(alice)
    chat.send("Question 0.")
    early = chat.leaf
    chat.send("Question 1.")
    chat.send("Question 2.")
    late = chat.leaf
    made = chat.summarised()
    chat.leaf = early
    assert "summary" not in kinds(context_of(chat.send("Another way.")))
    chat.leaf = late
    assert "summary" in kinds(context_of(chat.send("The old way.")))
    assert called(alice, "DELETE", f"{chat.path}/compactions/{made['id']}")[0] == 204
    chat.leaf = late
    assert kinds(context_of(chat.send("All again."))).count("history") == 6
    assert Request.objects.filter(pk=made["request_id"]).exists()


@pytest.mark.parametrize("ending", ["failed", "stopped", "withheld", "blocked", "done"])
def test_a_summary_that_has_no_text_holds_for_nothing(alice: Client, ending: str) -> None:
    chat = Chat(alice)
    chat.send("Question 0.")
    chat.send("Question 1.")
    _, made = chat.compact()
    end(made["request_id"], "" if ending == "done" else "half a", ending)
    request = chat.send("And now?")
    assert "summary" not in kinds(context_of(request)) and context_of(request).summarised == ()
    [shown] = chat.shown()["summaries"]
    assert shown["state"] == "failed" and shown["problem"]


def test_a_message_waits_for_no_summary(alice: Client) -> None:
    chat = Chat(alice)
    chat.send("Question 0.")
    chat.send("Question 1.")
    assert chat.compact()[0] == 201
    assert kinds(context_of(chat.send("And now?"))).count("history") == 4


def test_one_summary_is_made_at_a_time_and_the_newest_turns_stay(alice: Client) -> None:
    chat = Chat(alice)
    chat.send("Question 0.")
    status, refused = chat.compact()
    assert (status, refused["error"]["code"]) == (409, "nothing_to_compact")
    chat.send("Question 1.")
    assert chat.compact()[0] == 201
    status, refused = chat.compact()
    assert (status, refused["error"]["code"]) == (409, "compaction_open")
    assert Summary.objects.count() == 1
    assert chat.compact(keep=0)[0] == 400


def test_a_deleted_trace_leaves_the_summary(alice: Client) -> None:
    chat = Chat(alice)
    chat.send("Question 0.")
    chat.send("Question 1.")
    made = chat.summarised()
    store.delete(Request.objects.get(pk=made["request_id"]))
    assert chat.shown()["summaries"][0]["text"] == "They spoke of the sea."


def test_summaries_of_others_are_not_there(alice: Client) -> None:
    chat = Chat(alice)
    chat.send("Question 0.")
    chat.send("Question 1.")
    made, bob = chat.summarised(), sign_in("bob")
    paths = [("GET", ""), ("POST", ""), ("POST", "/preview"), ("DELETE", f"/{made['id']}")]
    for method, below in paths:
        assert called(bob, method, f"{chat.path}/compactions{below}", {})[0] == 404
    assert called(bob, "GET", f"/api/requests/{made['request_id']}/left-out")[0] == 404
    other = Chat(bob)
    assert called(bob, "DELETE", f"{other.path}/compactions/{made['id']}")[0] == 404
    assert Summary.objects.count() == 1


def test_the_preview_tells_what_goes_what_stays_and_what_it_costs(alice: Client) -> None:
    chat = Chat(alice, system_prompt="Be brief.")
    for turn in range(4):
        chat.send(f"Question {turn}. {SEA * 40}", f"Answer {turn}. {SEA * 40}")
    body = {"keep": 1, "leaf_id": chat.leaf}
    status, told = called(alice, "POST", f"{chat.path}/compactions/preview", body)
    assert status == 200, told
    assert [each["question"][:10] for each in told["covered"]] == ["Question 0", "Question 1", "Question 2"]
    assert [each["answer"][:8] for each in told["kept"]] == ["Answer 3"]
    assert told["most_tokens_after"] < told["num_tokens_now"] and told["earlier"] is None
    assert told["num_cached"] is None and told["num_read_again"] is None
    assert Summary.objects.count() == 0
    made = chat.summarised("word " * told["max_summary_tokens"])
    context = context_of(Request.objects.get(pk=made["request_id"]))
    assert context.num_prompt_tokens == told["num_request_tokens"]
    after = context_of(chat.send("Hm?"))
    question = next(each for each in after.segments if each.kind == "user")
    assert question.start <= told["most_tokens_after"] + 8  # the template's own around the new message


def test_a_conversation_that_keeps_all_refuses_what_does_not_fit(alice: Client) -> None:
    chat = Chat(alice, window_policy="keep")
    for turn in range(5):
        chat.send(f"{turn}: {SEA * 75}", SEA * 75)
    chat.send(f"last: {SEA * 75}", SEA * 75)
    draft = {"text": SEA * 150, "parent_id": chat.leaf, "params": {"max_tokens": 700}}
    status, refused = called(alice, "POST", f"{chat.path}/preview", draft)
    assert (status, refused["error"]["code"]) == (409, "prompt_too_long")
    assert "keeps all its turns" in refused["error"]["message"]
    assert called(alice, "PATCH", chat.path, {"window_policy": "drop"})[1]["window_policy"] == "drop"
    status, told = called(alice, "POST", f"{chat.path}/preview", draft)
    assert status == 200 and told["num_dropped_turns"] >= 1
    assert called(alice, "PATCH", chat.path, {"window_policy": "forget"})[0] == 400


@pytest.mark.parametrize(
    ("policy", "num_turns", "num_made"), [("summarise", 6, 1), ("drop", 6, 0), ("summarise", 1, 0)]
)
def test_a_full_window_is_summarised_after_an_answer(alice: Client, policy: str, num_turns: int, num_made: int) -> None:
    chat = Chat(alice, window_policy=policy)
    for turn in range(num_turns):
        request = chat.send(f"{turn}: {SEA * 70}", SEA * 70)
    context = context_of(request)
    request.context = {"window": context.window, "num_prompt_tokens": context.num_prompt_tokens}
    request.save()
    compact_if_full(str(chat.leaf))
    assert Summary.objects.count() == num_made
    for made in Summary.objects.all():
        assert made.request is not None and made.request.surface == "summary"
        end(made.request_id or "", "They spoke of the sea.")
        assert "summary" in kinds(context_of(chat.send("And now?")))


def test_the_whole_texts_of_what_was_left_out_are_read_by_their_owner(alice: Client) -> None:
    chat = Chat(alice)
    chat.send(f"Long: {SEA * 20}")
    chat.send("Question 1.")
    chat.summarised()
    request = chat.send("And now?")
    store.save(request, services.event_log().read(request.pk))
    status, told = called(alice, "GET", f"/api/requests/{request.pk}/left-out")
    assert status == 200
    assert sorted(told["texts"].values()) == [f"Long: {SEA * 20}", "Yes."]
