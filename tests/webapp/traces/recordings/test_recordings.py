"""Calls below a recording's address join it, in order, for the key's user alone. The answers are those of /v1/."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.registered import CONFIGURED
from webapp.api import site
from webapp.identity.keys.keys import create
from webapp.requests.models import Request
from webapp.traces.recordings import turns
from webapp.traces.recordings.models import Recording, Turn

pytestmark = pytest.mark.django_db(transaction=True)

SAID = {"model": CONFIGURED, "input": "Hi", "background": True}


def program_of(name: str) -> Client:
    user, _ = User.objects.get_or_create(username=name)
    return Client(raise_request_exception=False, headers={"x-api-key": create(user.pk, "a test").secret})


def browser_of(name: str) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get_or_create(username=name)[0])
    return client


def call(client: Client, recording: str, path: str = "responses", body: Any = SAID) -> Any:
    return client.post(f"/record/{recording}/v1/{path}", json.dumps(body), content_type="application/json")


@pytest.fixture
def alice(redis_client: object) -> Client:
    return program_of("alice")


def test_calls_join_the_recording_of_their_address_in_order(alice: Client) -> None:
    ids = [call(alice, "agent").json()["id"].replace("resp_", "req_") for _ in range(3)]
    other = call(alice, "other").json()["id"]
    page = browser_of("alice")
    listed = page.get("/api/recordings").json()["recordings"]
    assert [(each["name"], each["num_turns"]) for each in listed] == [("other", 1), ("agent", 3)]
    shown = page.get(f"/api/recordings/{listed[1]['id']}").json()
    assert [each["id"] for each in shown["turns"]] == ids
    assert [each["number"] for each in shown["turns"]] == [1, 2, 3]
    assert [each["difference"] for each in shown["turns"]] == [None] * 3
    assert other.replace("resp_", "req_") not in ids
    later = page.get(f"/api/recordings/{listed[1]['id']}?after=2").json()
    assert [(each["id"], each["number"]) for each in later["turns"]] == [(ids[2], 3)]


def test_an_answer_is_that_of_the_ordinary_address(alice: Client) -> None:
    recorded = call(alice, "agent")
    assert recorded["Sightglass-Trace"].startswith("http://testserver/requests/req_")
    models = alice.get("/record/agent/v1/models").json()
    assert models == alice.get("/v1/models").json()
    assert alice.get(f"/record/agent/v1/responses/{recorded.json()['id']}").json()["object"] == "response"
    assert Turn.objects.count() == 1


def test_a_call_of_the_ordinary_address_joins_none(alice: Client) -> None:
    alice.post("/v1/responses", json.dumps(SAID), content_type="application/json")
    assert Request.objects.count() == 1
    assert not Turn.objects.exists() and not Recording.objects.exists()


def test_users_have_recordings_of_the_same_name(alice: Client) -> None:
    call(alice, "agent")
    call(program_of("bob"), "agent")
    assert [each.turns.count() for each in Recording.objects.filter(name="agent")] == [1, 1]


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "ä", "a" * 41, "<b>", "a%00", "..", "a?"])
def test_another_name_is_refused(alice: Client, name: str) -> None:
    assert call(alice, name).status_code in (400, 404)
    assert not Recording.objects.exists()


def test_the_refusal_has_the_familys_form(alice: Client) -> None:
    error = call(alice, "Agent").json()["error"]
    assert "1 to 40 characters" in error["message"]
    assert call(alice, "Agent", "messages", {}).json()["type"] == "error"
    assert call(alice, "agent", "nothing", {}).json()["error"]["code"] == "not_found"
    assert call(alice, "agent", "messages", {}).json()["error"]["type"] == "invalid_request_error"


def test_a_caller_without_a_key_records_nothing(redis_client: object) -> None:
    assert call(browser_of("alice"), "agent").status_code == 401
    refused = call(Client(headers={"x-api-key": "sg-" + "0" * 51}), "agent")
    assert refused.status_code == 401
    assert "0" * 51 not in refused.content.decode()
    assert not Recording.objects.exists()


def test_a_refused_call_makes_no_recording(alice: Client) -> None:
    assert call(alice, "agent", body={"model": "nope", "input": "Hi"}).status_code == 404
    assert not Recording.objects.exists()


def test_the_number_of_recordings_is_limited(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MAX_RECORDINGS", 1)
    assert call(alice, "one").status_code == 200
    refused = call(alice, "two")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "too_many")
    assert call(alice, "one").status_code == 200
    assert Request.objects.count() == 2


def test_a_recording_is_renamed_and_deleted_and_its_requests_stay(alice: Client) -> None:
    call(alice, "agent")
    call(alice, "other")
    found, page = Recording.objects.get(name="agent"), browser_of("alice")
    change = lambda name: page.patch(  # noqa: E731
        f"/api/recordings/{found.pk}", json.dumps({"name": name}), content_type="application/json"
    )
    assert change("first").json()["name"] == "first"
    assert (change("other").status_code, change("A B").status_code) == (409, 400)
    assert page.delete(f"/api/recordings/{found.pk}").status_code == 204
    assert Request.objects.count() == 2
    assert list(Recording.objects.values_list("name", flat=True)) == ["other"]


def test_the_page_of_a_recording_is_there_for_its_owner_alone(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "built", lambda source: {"script": "main.js", "styles": []})
    call(alice, "agent")
    path = f"/recordings/{Recording.objects.get().pk}"
    assert [browser_of(name).get(path).status_code for name in ("alice", "bob")] == [200, 404]


def test_a_foreign_recording_is_not_found(alice: Client) -> None:
    call(alice, "agent")
    found, bob = Recording.objects.get(), browser_of("bob")
    assert bob.get("/api/recordings").json() == {"recordings": []}
    assert bob.get(f"/api/recordings/{found.pk}").status_code == 404
    assert bob.delete(f"/api/recordings/{found.pk}").status_code == 404
    change = bob.patch(f"/api/recordings/{found.pk}", '{"name": "b"}', content_type="application/json")
    assert change.status_code == 404
    assert Recording.objects.get().name == "agent"
    assert bob.get("/api/recordings/99999999999999999999").status_code == 404
