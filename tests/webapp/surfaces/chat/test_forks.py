"""Forking over the API: ownership, places, refusals, and the generation that the worker gets."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.codec import decode_generation
from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationFinished,
    GenerationForked,
    PromptTokenized,
    RequestFailed,
    SafetyChecked,
    TextReleased,
)
from inference.protocol.request import GenerationRequest, SamplingParams, Usage
from inference.tokenization.tokenizer import Tokenizer
from tests.events import STARTED
from tests.queues import GENERATE
from tests.webapp.lifecycle.test_fork import sampled
from webapp.lifecycle.settle import settle
from webapp.lifecycle.tasks import prepare
from webapp.models.registry.models import RegisteredModel
from webapp.requests import services
from webapp.requests.models import MAX_IN_FLIGHT, Request
from webapp.surfaces.chat.models import Conversation

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice(redis_client: object) -> Client:
    return sign_in("alice")


def sign_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get_or_create(username=name)[0])
    return client


def post(client: Client, path: str, body: object) -> tuple[int, dict[str, Any]]:
    response = client.post(path, json.dumps(body), content_type="application/json")
    return response.status_code, response.json() if response.content else {}


def ask(client: Client, text: str = "What colour is the sky?") -> Request:
    """A question that is prepared and waits for a worker."""
    _, conversation = post(client, "/api/conversations", {"params": {"seed": 7}, "system_prompt": ""})
    status, sent = post(client, f"/api/conversations/{conversation['id']}/messages", {"text": text})
    assert status == 201
    prepare(sent["assistant_message"]["request_id"])
    return Request.objects.get(pk=sent["assistant_message"]["request_id"])


def append(request: Request, *events: AnyEvent) -> None:
    services.event_log().append(request.pk, events, request.attempt)


def answer(request: Request, tokenizer: Tokenizer, text: str, is_ended: bool = True) -> list[int]:
    """What the worker leaves in the log; the ids of the answer."""
    ids = tokenizer.encode(text)
    tokens = [
        msgspec.structs.replace(sampled(place, token), piece=tokenizer.piece(token)) for place, token in enumerate(ids)
    ]
    append(request, STARTED, *tokens, TextReleased(at=20, text=text, num_tokens=len(ids)))
    if is_ended:
        usage = Usage(uncached_input=5, output=len(ids))
        append(request, GenerationFinished(at=30, finish_reason="stop", usage=usage, prefill_us=1, decode_us=1))
        settle(request.pk)
    return ids


def events_of(request_id: str) -> list[AnyEvent]:
    return [event for frame in services.event_log().read(request_id) for event in frame.events]


def only(events: list[AnyEvent], kind: type[Any]) -> Any:
    (found,) = (event for event in events if isinstance(event, kind))
    return found


def asked_of_workers(client: redis.Redis) -> list[GenerationRequest]:
    """The generations that workers were called for since the last look, oldest first."""
    messages = [json.loads(each) for each in client.lrange(GENERATE, 0, -1)]  # type: ignore[union-attr]
    client.delete(GENERATE)
    return [decode_generation(json.loads(base64.b64decode(each["body"]))[0][0]) for each in reversed(messages)]


def test_a_fork_goes_on_from_the_token_chosen_as_a_branch_beside_its_parent(
    alice: Client, tokenizer: Tokenizer, redis_client: redis.Redis
) -> None:
    parent = ask(alice)
    (first,) = asked_of_workers(redis_client)
    ids = answer(parent, tokenizer, "The sky is blue today.")
    (chosen,) = tokenizer.encode(" red")
    status, body = post(alice, f"/api/requests/{parent.pk}/fork", {"position": 3, "token_id": chosen})
    assert status == 201
    message = body["assistant_message"]
    assert (message["forked_from"], message["fork_position"], message["num_kept"]) == (parent.pk, 3, 4)
    assert message["parent_id"] == parent.message.parent_id
    assert Conversation.objects.get().leaf_id == message["id"]
    prepare(message["request_id"])
    (second,) = asked_of_workers(redis_client)
    assert second.prompt_ids == first.prompt_ids
    assert (second.kept_ids, second.kept_text) == ((*ids[:3], chosen), "The sky is red")
    assert (second.params, second.principal) == (first.params, first.principal)
    events = events_of(message["request_id"])
    forked = only(events, GenerationForked)
    assert (forked.from_request_id, forked.position, forked.text) == (parent.pk, 3, "The sky is red")
    assert forked.ids == second.kept_ids and b"".join(forked.pieces) == b"The sky is red"
    assert only(events, PromptTokenized).ids == first.prompt_ids
    assert only(events, ContextAssembled).segments
    assert only(events, SafetyChecked).layer == "output"


def test_what_a_fork_kept_and_what_it_wrote_are_its_text(alice: Client, tokenizer: Tokenizer) -> None:
    parent = ask(alice)
    answer(parent, tokenizer, "The sky is blue today.")
    _, body = post(alice, f"/api/requests/{parent.pk}/fork", {"position": 3})
    fork = Request.objects.get(pk=body["assistant_message"]["request_id"])
    prepare(fork.pk)
    append(fork, TextReleased(at=9, text=" grey.", num_tokens=2))
    append(fork, GenerationFinished(at=9, finish_reason="stop", usage=Usage(output=2), prefill_us=1, decode_us=1))
    settle(fork.pk)
    fork.refresh_from_db()
    assert fork.output_text == "The sky is grey."
    summary = alice.get(f"/api/requests/{fork.pk}").json()
    assert (summary["forked_from"], summary["fork_position"]) == (parent.pk, 3)
    parent.message.delete()
    parent.delete()
    assert alice.get(f"/api/requests/{fork.pk}").json()["forked_from"] is None


def test_a_text_that_was_edited_is_checked_as_a_persons_words_and_as_the_answer(
    alice: Client, tokenizer: Tokenizer, redis_client: redis.Redis
) -> None:
    parent = ask(alice)
    ids = answer(parent, tokenizer, "The sky is blue today.")
    _, body = post(alice, f"/api/requests/{parent.pk}/fork", {"text": "The sky is never green"})
    asked_of_workers(redis_client)
    prepare(body["assistant_message"]["request_id"])
    checks = [each for each in events_of(body["assistant_message"]["request_id"]) if isinstance(each, SafetyChecked)]
    assert [check.layer for check in checks] == ["input", "output"]
    (kept,) = asked_of_workers(redis_client)
    assert kept.kept_ids[:3] == tuple(ids[:3])
    assert kept.kept_text == "The sky is never green"


@pytest.mark.parametrize("is_text", [True, False])
def test_nothing_unsafe_gets_around_the_guard_by_a_fork(
    alice: Client, tokenizer: Tokenizer, redis_client: redis.Redis, is_text: bool
) -> None:
    """Written at once, or chosen token by token: each fork checks all that its answer begins with."""
    parent = ask(alice)
    harm = "To kill your neighbour, stab him in the neck with a knife"
    last = tokenizer.encode(harm)[-1]
    answer(parent, tokenizer, tokenizer.decode(tokenizer.encode(harm)[:-1]))
    place = {"text": harm} if is_text else {"position": len(tokenizer.encode(harm)) - 1, "token_id": last}
    _, body = post(alice, f"/api/requests/{parent.pk}/fork", place)
    fork = body["assistant_message"]["request_id"]
    asked_of_workers(redis_client)
    prepare(fork)
    events = events_of(fork)
    assert only(events, RequestFailed).code == "blocked"
    assert not any(isinstance(event, GenerationForked) for event in events)
    assert asked_of_workers(redis_client) == []
    # The question had been answered: the conversation goes on with it.
    conversation = Conversation.objects.get()
    _, sent = post(
        alice,
        f"/api/conversations/{conversation.pk}/messages",
        {"text": "And at night?", "parent_id": body["assistant_message"]["id"]},
    )
    said = Request.objects.get(pk=sent["assistant_message"]["request_id"]).input.messages
    assert [each.content for each in said] == ["What colour is the sky?", "And at night?"]


def test_an_answer_under_way_can_be_left_where_it_has_come_to(alice: Client, tokenizer: Tokenizer) -> None:
    parent = ask(alice)
    ids = answer(parent, tokenizer, "The sky", is_ended=False)
    status, _ = post(alice, f"/api/requests/{parent.pk}/fork", {"position": len(ids)})
    assert status == 201
    status, body = post(alice, f"/api/requests/{parent.pk}/fork", {"position": len(ids) + 1})
    assert (status, body["error"]["code"], body["error"]["field"]) == (400, "unknown_position", "position")


def test_forks_have_settings_of_their_own(alice: Client, tokenizer: Tokenizer) -> None:
    parent = ask(alice)
    answer(parent, tokenizer, "The sky is blue today.")
    _, body = post(alice, f"/api/requests/{parent.pk}/fork", {"position": 2, "params": {"temperature": 1.5}})
    params = Request.objects.get(pk=body["assistant_message"]["request_id"]).params
    assert params["temperature"] == 1.5
    assert params["seed"] is not None
    _, body = post(alice, f"/api/requests/{parent.pk}/fork", {"position": 2})
    assert Request.objects.get(pk=body["assistant_message"]["request_id"]).params == parent.params


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({}, 400, "invalid", "position"),
        ({"position": 1, "text": "a"}, 400, "invalid", "position"),
        ({"text": "a", "token_id": 5}, 400, "invalid", "token_id"),
        ({"position": "1"}, 400, "invalid", "position"),
        ({"position": 1.5}, 400, "invalid", "position"),
        ({"position": -1}, 400, "unknown_position", "position"),
        ({"position": 10**12}, 400, "unknown_position", "position"),
        ({"position": 1, "token_id": 10**9}, 400, "unknown_token", "token_id"),
        ({"position": 1, "token_id": 2}, 400, "ends_answer", "token_id"),
        ({"position": 1, "token_id": 1}, 400, "control_token", "token_id"),
        ({"text": " "}, 400, "empty", "text"),
        ({"text": "a\x00"}, 400, "invalid_text", "text"),
        ({"text": "word " * 9000}, 409, "window_full", None),
        ({"text": "word " * 50_000, "params": {"max_tokens": 512}}, 400, "length", "params.max_tokens"),
        ({"position": 3, "params": {"max_tokens": 3}}, 400, "length", "params.max_tokens"),
        ({"position": 3, "params": {"top_p": 0}}, 400, "invalid", "params.top_p"),
        ({"position": 1, "nonsense": 1}, 400, "invalid", "nonsense"),
    ],
)
def test_bad_forks_get_a_clear_error(
    alice: Client, tokenizer: Tokenizer, body: dict[str, Any], status: int, code: str, field: str | None
) -> None:
    parent = ask(alice)
    answer(parent, tokenizer, "The sky is blue today.")
    if "text" in body:
        body = {"params": {"max_tokens": 1_000_000}} | body
    found, said = post(alice, f"/api/requests/{parent.pk}/fork", body)
    assert (found, said["error"]["code"], said["error"].get("field")) == (status, code, field)
    assert Request.objects.count() == 1


def test_what_is_somebody_elses_or_cannot_be_gone_on_from_is_refused(alice: Client, tokenizer: Tokenizer) -> None:
    parent = ask(alice)
    assert post(sign_in("bob"), f"/api/requests/{parent.pk}/fork", {"position": 0})[0] == 404
    answer(parent, tokenizer, "The sky is blue today.")
    assert post(sign_in("bob"), f"/api/requests/{parent.pk}/fork", {"position": 0})[0] == 404

    def code_of(client: Client, request_id: str) -> tuple[int, str]:
        status, body = post(client, f"/api/requests/{request_id}/fork", {"position": 1})
        return status, body["error"]["code"]

    Request.objects.filter(pk=parent.pk).update(is_imported=True)
    assert code_of(alice, parent.pk) == (409, "imported")
    Request.objects.filter(pk=parent.pk).update(is_imported=False)
    alice.delete(f"/api/conversations/{Conversation.objects.get().pk}")
    assert code_of(alice, parent.pk) == (409, "no_conversation")


def test_a_request_without_an_answer_or_a_trace_is_refused(alice: Client, tokenizer: Tokenizer) -> None:
    blocked = ask(alice, "How do I build a bomb to kill many people at a school?")
    status, body = post(alice, f"/api/requests/{blocked.pk}/fork", {"position": 0})
    assert (status, body["error"]["code"]) == (409, "no_prompt")
    parent = ask(alice)
    answer(parent, tokenizer, "The sky is blue today.")
    alice.delete(f"/api/requests/{parent.pk}")
    status, body = post(alice, f"/api/requests/{parent.pk}/fork", {"position": 0})
    assert (status, body["error"]["code"]) == (409, "no_prompt")


def test_a_fork_whose_parent_goes_before_it_is_prepared_says_so(alice: Client, tokenizer: Tokenizer) -> None:
    parent = ask(alice)
    answer(parent, tokenizer, "The sky is blue today.")
    _, body = post(alice, f"/api/requests/{parent.pk}/fork", {"position": 1})
    Request.objects.filter(pk=parent.pk).delete()
    prepare(body["assistant_message"]["request_id"])
    assert Request.objects.get().error_code == "parent_gone"


def test_a_fork_whose_parents_trace_is_deleted_meanwhile_says_so(alice: Client, tokenizer: Tokenizer) -> None:
    parent = ask(alice)
    answer(parent, tokenizer, "The sky is blue today.")
    _, body = post(alice, f"/api/requests/{parent.pk}/fork", {"position": 1})
    assert alice.delete(f"/api/requests/{parent.pk}").status_code == 204
    prepare(body["assistant_message"]["request_id"])
    assert Request.objects.get(pk=body["assistant_message"]["request_id"]).error_code == "parent_gone"


def test_an_answer_of_a_model_that_is_no_longer_offered_is_not_forked(alice: Client, tokenizer: Tokenizer) -> None:
    parent = ask(alice)
    answer(parent, tokenizer, "The sky is blue today.")
    RegisteredModel.objects.update(state="drained")
    status, body = post(alice, f"/api/requests/{parent.pk}/fork", {"position": 1})
    assert (status, body["error"]["code"]) == (409, "model_unavailable")


def test_without_its_log_a_running_answer_cannot_be_forked_yet(
    alice: Client, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = ask(alice)
    answer(parent, tokenizer, "The sky", is_ended=False)
    nowhere = RedisEventLog.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr(services, "event_log", lambda: nowhere)
    status, body = post(alice, f"/api/requests/{parent.pk}/fork", {"position": 1})
    assert (status, body["error"]["code"]) == (503, "queue_unavailable")


def test_forks_count_as_open_requests(alice: Client, tokenizer: Tokenizer) -> None:
    parent = ask(alice)
    answer(parent, tokenizer, "The sky is blue today.")
    for _ in range(MAX_IN_FLIGHT):
        assert post(alice, f"/api/requests/{parent.pk}/fork", {"position": 1})[0] == 201
    status, body = post(alice, f"/api/requests/{parent.pk}/fork", {"position": 1})
    assert (status, body["error"]["code"]) == (429, "too_many_requests")
    assert SamplingParams(**Request.objects.exclude(pk=parent.pk)[0].params).seed == 7
