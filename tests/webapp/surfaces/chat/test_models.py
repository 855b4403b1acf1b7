"""Conversations on several models: each request goes to its conversation's model, while that is offered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from inference.eventlog.keys import model_queue
from inference.protocol.events import PromptTokenized
from inference.tokenization.tokenizer import Tokenizer
from tests.webapp.registered import CONFIGURED, beat, registered, tiny
from tests.webapp.surfaces.chat.test_forks import answer, ask, events_of, only
from webapp.lifecycle.admission import num_free_places
from webapp.lifecycle.tasks import prepare
from webapp.models.registry.models import RegisteredModel
from webapp.requests import services
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db(transaction=True)
TINY = "tiny"


@pytest.fixture
def alice(redis_client: object, tmp_path: Path) -> Client:
    registered(TINY, tiny(tmp_path))
    registered("twin")
    client = Client()
    client.force_login(User.objects.get_or_create(username="alice")[0])
    return client


def call(client: Client, method: str, path: str, body: object) -> tuple[int, dict[str, Any]]:
    response = getattr(client, method)(path, json.dumps(body), content_type="application/json")
    return response.status_code, response.json() if response.content else {}


def converse(client: Client, **body: object) -> str:
    status, made = call(client, "post", "/api/conversations", body)
    assert status == 201, made
    return str(made["id"])


def send(client: Client, conversation: str, **body: object) -> tuple[int, dict[str, Any]]:
    return call(client, "post", f"/api/conversations/{conversation}/messages", {"text": "Hello"} | body)


def refused(answered: tuple[int, dict[str, Any]]) -> tuple[int, str]:
    return answered[0], answered[1]["error"]["code"]


def test_each_request_is_packed_and_queued_for_its_own_model(alice: Client, redis_client: redis.Redis) -> None:
    versions = {}
    for model in (TINY, CONFIGURED):
        _, sent = send(alice, converse(alice, model=model))
        request = Request.objects.get(pk=sent["assistant_message"]["request_id"])
        prepare(request.pk)
        version = only(events_of(request.pk), PromptTokenized).version
        assert request.model == model
        assert version == services.prompt_services(model).tokenizer.version
        assert redis_client.llen(model_queue(model, version)) == 1
        versions[model] = version
    assert len(set(versions.values())) == 2


def test_the_session_names_the_models_that_are_offered(alice: Client, redis_client: redis.Redis) -> None:
    RegisteredModel.objects.filter(pk="twin").update(state="drained")
    beat(redis_client, "vm:1", TINY)
    session = alice.get("/api/session").json()
    found = {model["id"]: model for model in session["models"]}
    assert list(found) == [CONFIGURED, TINY]
    assert {model: each["is_ready"] for model, each in found.items()} == {CONFIGURED: False, TINY: True}
    assert (found[TINY]["window"], found[CONFIGURED]["window"]) == (256, 8192)
    for model in found.values():
        file = alice.get(model["tokenizer_url"])
        assert file.headers["ETag"] == f'"{model["tokenizer_version"]}"'
        assert "immutable" in file.headers["Cache-Control"]
    assert alice.get("/api/models/twin/tokenizer.json").status_code == 404
    assert [worker["model"] for worker in session["workers"]] == [TINY]


def test_the_next_message_goes_to_another_model(alice: Client, tokenizer: Tokenizer) -> None:
    conversation = converse(alice, model="twin")
    assert call(alice, "patch", f"/api/conversations/{conversation}", {"model": TINY})[1]["model"] == TINY
    assert send(alice, conversation)[0] == 201
    assert Request.objects.get().model == TINY
    for unknown in ("nothing", "../x", ""):
        status, told = call(alice, "patch", f"/api/conversations/{conversation}", {"model": unknown})
        assert (status, told["error"]["code"], told["error"]["field"]) == (404, "unknown_model", "model")
        assert TINY in told["error"]["message"]


def test_settings_that_the_new_model_does_not_know_are_refused(alice: Client) -> None:
    conversation = converse(alice, params={"banned_token_ids": [40_000]})
    status, told = call(alice, "patch", f"/api/conversations/{conversation}", {"model": TINY})
    assert (status, told["error"]["field"]) == (400, "params.banned_token_ids")
    path = f"/api/conversations/{conversation}"
    assert call(alice, "patch", path, {"model": TINY, "params": {"banned_token_ids": [40]}})[0] == 200
    assert refused(send(alice, conversation, params={"banned_token_ids": [40_000]})) == (400, "invalid")
    checked = call(alice, "post", "/api/conversations/check", {"model": TINY, "params": {"max_tokens": 300}})[1]
    assert "256 tokens" in checked["notes"][0]["message"]


@pytest.mark.parametrize("state", ["drained", "retired", "failed", "checking", None])
def test_a_model_that_is_not_offered_takes_nothing_new(alice: Client, tokenizer: Tokenizer, state: str | None) -> None:
    parent = ask(alice)
    answer(parent, tokenizer, "The sky is blue.")
    conversation = parent.message.conversation
    rows = RegisteredModel.objects.filter(pk=CONFIGURED)
    rows.delete() if state is None else rows.update(state=state, is_default=False)
    RegisteredModel.objects.filter(pk="twin").update(is_default=True)
    draft = {"text": "Hello"}
    tries = {
        "message": send(alice, conversation.pk),
        "regenerate": call(alice, "post", f"/api/messages/{parent.message.pk}/regenerate", {}),
        "fork": call(alice, "post", f"/api/requests/{parent.pk}/fork", {"position": 1}),
        "run": call(alice, "post", f"/api/requests/{parent.pk}/reruns", {"seeds": "fresh"}),
        "preview": call(alice, "post", f"/api/conversations/{conversation.pk}/preview", draft),
    }
    assert {name: refused(told) for name, told in tries.items()} == dict.fromkeys(tries, (409, "model_unavailable"))
    assert tries["message"][1]["error"]["message"] == f"{CONFIGURED} is no longer offered. Choose another model."
    assert Request.objects.count() == 1
    assert call(alice, "post", "/api/conversations", {"model": CONFIGURED})[0] == 404
    call(alice, "patch", f"/api/conversations/{conversation.pk}", {"model": "twin"})
    assert send(alice, conversation.pk)[0] == 201


def test_a_repeated_call_finds_what_it_began_after_its_model_was_drained(alice: Client) -> None:
    conversation = converse(alice)
    path, body = f"/api/conversations/{conversation}/messages", json.dumps({"text": "Hello"})
    headers = {"Idempotency-Key": "a-key-of-this-call"}
    first = alice.post(path, body, content_type="application/json", headers=headers)
    RegisteredModel.objects.filter(pk=CONFIGURED).update(state="drained")
    again = alice.post(path, body, content_type="application/json", headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json()["user_message"] == first.json()["user_message"]


def test_open_requests_of_a_drained_model_are_prepared(alice: Client) -> None:
    send(alice, converse(alice, model=TINY))
    RegisteredModel.objects.filter(pk=TINY).update(state="drained")
    request = Request.objects.get()
    prepare(request.pk)
    request.refresh_from_db()
    assert not request.is_settled


def test_a_request_whose_model_is_gone_says_so(alice: Client) -> None:
    send(alice, converse(alice, model=TINY))
    RegisteredModel.objects.filter(pk=TINY).delete()
    request = Request.objects.get()
    prepare(request.pk)
    request.refresh_from_db()
    assert (request.error_code, request.status) == ("model_unavailable", "failed")
    assert "not in the registry any more" in request.error_message


def test_a_run_goes_to_a_model_with_the_same_tokenizer(alice: Client, tokenizer: Tokenizer) -> None:
    parent = ask(alice)
    answer(parent, tokenizer, "The sky is blue.")
    path = f"/api/requests/{parent.pk}/reruns"
    status, made = call(alice, "post", path, {"model": "twin", "seeds": "fresh"})
    assert (status, made.get("model")) == (201, "twin"), made
    for model, words in ((TINY, "another tokenizer"), ("nothing", "is offered")):
        status, told = call(alice, "post", path, {"model": model})
        assert (status, told["error"]["field"]) == (400, "model")
        assert words in told["error"]["message"]


def test_places_are_those_of_the_models_own_workers(alice: Client, redis_client: redis.Redis) -> None:
    beat(redis_client, "vm:1", CONFIGURED, num_places="2")
    beat(redis_client, "vm:2", TINY, num_places="1")
    assert send(alice, converse(alice, n=2))[0] == 201
    assert (num_free_places(CONFIGURED), num_free_places(TINY)) == (0, 1)
    assert refused(send(alice, converse(alice))) == (429, "overloaded")
    assert send(alice, converse(alice, model=TINY))[0] == 201
    assert refused(send(alice, converse(alice, model=TINY))) == (429, "overloaded")


def test_an_unreadable_model_does_not_hide_the_others(alice: Client, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    found = {model["id"]: model for model in alice.get("/api/session").json()["models"]}
    assert (found[TINY]["window"], found[TINY]["tokenizer_version"]) == (None, None)
    assert found[CONFIGURED]["window"] == 8192


def test_a_changed_file_gets_its_own_tokenizer(alice: Client, tmp_path: Path) -> None:
    before = services.prompt_services(TINY)
    assert services.prompt_services(TINY) is before
    (tmp_path / "tiny.gguf").unlink()
    tiny(tmp_path)
    assert services.prompt_services(TINY) is not before
