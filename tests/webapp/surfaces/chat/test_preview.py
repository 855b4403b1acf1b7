"""The preview of a message equals the prompt that is sent later, and nothing of it is kept."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import msgspec
import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from inference.eventlog.keys import PREFIX
from inference.protocol.events import ContextAssembled
from webapp.lifecycle import tasks
from webapp.models.billing.bill import KINDS
from webapp.models.billing.models import Price
from webapp.models.registry.models import RegisteredModel
from webapp.requests import services
from webapp.requests.models import Request
from webapp.surfaces.chat.models import Conversation, Message

pytestmark = pytest.mark.django_db(transaction=True)


def sign_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get_or_create(username=name)[0])
    return client


def post(client: Client, path: str, body: object) -> tuple[int, dict[str, Any]]:
    response = client.post(path, json.dumps(body), content_type="application/json")
    return response.status_code, response.json()


@pytest.fixture
def alice(redis_client: object) -> Client:
    return sign_in("alice")


def begin(by: Client, **settings: object) -> str:
    return str(post(by, "/api/conversations", settings)[1]["id"])


def send(by: Client, conversation: str, text: str, parent: str | None, answer: str = "") -> Message:
    """A message that was sent and prepared, and what was answered."""
    body = {"text": text, "parent_id": parent, "params": {"max_tokens": 700}}
    status, sent = post(by, f"/api/conversations/{conversation}/messages", body)
    assert status == 201, sent
    request_id = sent["assistant_message"]["request_id"]
    tasks.prepare(request_id)
    Request.objects.filter(pk=request_id).update(
        status="done", output_text=answer, finished_at=timezone.now(), first_text_us=100_000
    )
    return Message.objects.get(pk=sent["assistant_message"]["id"])


def assembled(answer: Message) -> dict[str, Any]:
    frames = services.event_log().read(answer.request_id or "")
    events = [event for frame in frames for event in frame.events]
    [context] = [event for event in events if isinstance(event, ContextAssembled)]
    told: dict[str, Any] = json.loads(msgspec.json.encode(context))
    return told


LONG = "The sea is wide and blue and full of fish. " * 150


@pytest.mark.parametrize("text", ["Tell me more.", LONG])
@pytest.mark.parametrize("num_turns", [0, 1, 6])
def test_what_is_sent_is_what_was_previewed(alice: Client, num_turns: int, text: str) -> None:
    """With the long texts the oldest turns have to go."""
    conversation, parent = begin(alice, system_prompt="Be brief."), None
    for turn in range(num_turns):
        parent = send(alice, conversation, f"{turn}: {LONG}", parent, f"Answer {turn}. {LONG}").pk
    draft = {"text": text, "parent_id": parent, "params": {"max_tokens": 700}}
    status, told = post(alice, f"/api/conversations/{conversation}/preview", draft)
    assert status == 200, told
    sent = {"dropped": []} | assembled(send(alice, conversation, text, parent))
    assert bool(told["dropped"]) == (num_turns == 6)
    for name in ("window", "reserved_output", "num_prompt_tokens", "dropped"):
        assert told[name] == sent[name], name
    *before, last = [(each["kind"], each["role"], each["start"], each["end"]) for each in sent["segments"]]
    assert [(s["kind"], s["role"], s["start"], s["end"]) for s in told["segments"]] == [*before, last]
    assert told["num_output_tokens"] == min(700, told["window"] - told["num_prompt_tokens"])


def test_each_tools_tokens_are_those_of_its_line_in_the_prompt(alice: Client) -> None:
    """Without a tool the prompt has so many tokens less."""

    def told(*tools: str) -> dict[str, Any]:
        return post(alice, f"/api/conversations/{begin(alice, tools=tools)}/preview", {"text": "Hello"})[1]

    both, one = told("calculator", "current_time"), told("calculator")
    assert [each["name"] for each in both["tools"]] == ["calculator", "current_time"]
    assert both["tools"][0] == one["tools"][0] and told()["tools"] == []
    assert both["num_prompt_tokens"] - one["num_prompt_tokens"] == both["tools"][1]["num_tokens"] > 0


def test_nothing_is_stored_or_queued(alice: Client, redis_client: redis.Redis) -> None:
    conversation = begin(alice)
    assert post(alice, f"/api/conversations/{conversation}/preview", {"text": "Hello"})[0] == 200
    assert (Message.objects.count(), Request.objects.count()) == (0, 0)
    assert list(redis_client.scan_iter()) == []


def test_a_chat_that_has_not_begun_is_previewed_with_its_system_prompt(alice: Client) -> None:
    body = {"text": "Hello", "system_prompt": "Answer in rhyme."}
    status, told = post(alice, "/api/conversations/preview", body)
    assert status == 200
    assert {"system", "user"} <= {segment["kind"] for segment in told["segments"]}
    assert Conversation.objects.count() == 0


@pytest.mark.parametrize(
    "settings", [{}, {"system_prompt": ""}, {"system_prompt": " \n"}, {"params": {"max_tokens": 30}}], ids=str
)
def test_a_chat_that_has_not_begun_is_previewed_as_it_would_begin(alice: Client, settings: dict[str, Any]) -> None:
    """What is left out is the model entry's; a blank system prompt is none."""
    status, told = post(alice, "/api/conversations/preview", {"text": "Hello"} | settings)
    assert status == 200, told
    begun = post(alice, f"/api/conversations/{begin(alice, **settings)}/preview", {"text": "Hello"})[1]
    for segment in told["segments"] + begun["segments"]:
        segment.pop("source")  # ids
    for name in ("num_prompt_tokens", "segments", "reserved_output", "num_output_tokens"):
        assert told[name] == begun[name]
    if not settings:
        assert (
            told["num_output_tokens"] == services.model_entry(RegisteredModel.objects.get()).default_params.max_tokens
        )
        assert "system" in {segment["kind"] for segment in told["segments"]}


def test_a_chat_that_could_not_begin_is_not_previewed(alice: Client) -> None:
    for wrong, field in (({"system_prompt": "a\x00"}, "system_prompt"), ({"params": {"top_p": 0}}, "params.top_p")):
        status, told = post(alice, "/api/conversations/preview", {"text": "Hello"} | wrong)
        assert (status, told["error"]["field"]) == (400, field)


def test_nothing_is_previewed_behind_an_answer_that_is_being_written(alice: Client) -> None:
    conversation = begin(alice)
    sent = post(alice, f"/api/conversations/{conversation}/messages", {"text": "Hello"})[1]
    draft = {"text": "And then?", "parent_id": sent["assistant_message"]["id"]}
    status, told = post(alice, f"/api/conversations/{conversation}/preview", draft)
    assert (status, told["error"]["code"]) == (409, "answer_open")


def test_only_the_owner_sees_what_a_conversation_would_send(alice: Client) -> None:
    conversation, other = begin(alice), begin(alice)
    answer = send(alice, conversation, "Hello", None, "Hi.")
    bob = sign_in("bob")
    assert post(bob, f"/api/conversations/{conversation}/preview", {"text": "Hello"})[0] == 404
    own = begin(bob)
    for by, at in ((bob, own), (alice, other)):
        body = {"text": "Hello", "parent_id": answer.pk}
        assert post(by, f"/api/conversations/{at}/preview", body)[0] == 404
    assert Client().post(f"/api/conversations/{conversation}/preview").status_code == 401


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"text": "  "}, 400, "empty"),
        ({"text": "Hello", "params": {"temperature": -1}}, 400, "invalid"),
        ({"text": "word " * 20_000}, 409, "prompt_too_long"),
    ],
)
def test_what_could_not_be_sent_is_refused_alike(alice: Client, body: object, status: int, code: str) -> None:
    told = post(alice, f"/api/conversations/{begin(alice)}/preview", body)
    assert (told[0], told[1]["error"]["code"]) == (status, code)


def test_one_user_has_one_preview_made_at_a_time(alice: Client, redis_client: redis.Redis) -> None:
    path, body = f"/api/conversations/{begin(alice)}/preview", {"text": "Hello"}
    key = f"{PREFIX}preview:{User.objects.get(username='alice').pk}"
    redis_client.set(key, 1)
    status, told = post(alice, path, body)
    assert (status, told["error"]["code"]) == (429, "busy")
    bob = sign_in("bob")
    assert post(bob, f"/api/conversations/{begin(bob)}/preview", body)[0] == 200
    redis_client.delete(key)
    assert [post(alice, path, body)[0] for _ in range(2)] == [200, 200]


def test_what_is_not_known_is_said_to_be_unknown(alice: Client) -> None:
    """No worker runs here, and none of the user's requests has been answered."""
    Price.objects.all().delete()
    _, told = post(alice, "/api/conversations/preview", {"text": "Hello"})
    assert (told["num_cached_tokens"], told["price"]) == (None, None)
    assert told["wait"] == {"num_queued": 0, "num_recent": 0, "first_text_us": None}


def test_the_price_is_that_of_today_and_the_wait_that_of_the_last_requests(alice: Client) -> None:
    Price.objects.all().delete()
    for kind in KINDS:
        Price.objects.create(
            model="smollm2-135m-instruct", kind=kind, unit_price_nano=7, currency="EUR", effective_from=date(2020, 1, 1)
        )
    conversation = begin(alice)
    for _ in range(3):
        send(alice, conversation, "Hello", None, "Hi.")
    body = {"text": "Hello", "params": {"max_tokens": 50}}
    _, told = post(alice, f"/api/conversations/{conversation}/preview", body)
    prompt = told["num_prompt_tokens"] * 7
    assert told["price"] == {
        "currency": "EUR",
        "version": "2020-01-01",
        "prompt_nano": prompt,
        "most_answer_nano": 50 * 7,
    }
    assert told["wait"] == {"num_queued": 3, "num_recent": 3, "first_text_us": 100_000}


def test_the_price_counts_what_is_to_be_written_before_a_breakpoint(alice: Client) -> None:
    Price.objects.all().delete()
    for kind in KINDS:
        nano = 9 if kind == "cache_write_5m" else 7
        Price.objects.create(
            model="smollm2-135m-instruct",
            kind=kind,
            unit_price_nano=nano,
            currency="EUR",
            effective_from=date(2020, 1, 1),
        )
    _, told = post(alice, "/api/conversations/preview", {"text": "Hello", "system_prompt": "Be brief."})
    system = next(each["end"] for each in told["segments"] if each["kind"] == "system")
    assert told["price"]["prompt_nano"] == told["num_prompt_tokens"] * 7 + system * 2
