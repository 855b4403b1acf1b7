"""A user's presets: kept, renamed and deleted by their owner alone."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User
from django.test import Client

from inference.protocol.request import SamplingParams

pytestmark = pytest.mark.django_db
PARAMS = json.loads(msgspec.json.encode(SamplingParams(temperature=1.5, stop=("END",))))


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


def keep(client: Client, name: str, **changes: object) -> Any:
    body = {"name": name, "params": PARAMS, "system_prompt": "Be wild.", "n": 2} | changes
    return client.post("/api/presets", body, content_type="application/json")


def rename(client: Client, preset_id: int, name: str) -> Any:
    return client.patch(f"/api/presets/{preset_id}", {"name": name}, content_type="application/json")


def names(client: Client) -> list[str]:
    return [preset["name"] for preset in client.get("/api/presets").json()["presets"]]


def test_a_preset_comes_back_as_it_was_saved(alice: Client) -> None:
    made = keep(alice, "  My\n wild one ")
    assert made.status_code == 201
    saved = {"name": "My wild one", "params": PARAMS, "system_prompt": "Be wild.", "n": 2}
    assert alice.get("/api/presets").json()["presets"] == [saved | {"id": made.json()["id"]}]


def test_a_preset_is_renamed_and_deleted(alice: Client) -> None:
    made = keep(alice, "B").json()["id"]
    keep(alice, "A")
    assert rename(alice, made, "C").json()["name"] == "C"
    assert names(alice) == ["A", "C"]
    assert alice.delete(f"/api/presets/{made}").status_code == 204
    assert names(alice) == ["A"]


def test_a_preset_is_its_owners_alone(alice: Client, bob: Client) -> None:
    made = keep(alice, "Mine").json()["id"]
    assert names(bob) == []
    assert rename(bob, made, "His").status_code == 404
    assert bob.delete(f"/api/presets/{made}").status_code == 404
    assert names(alice) == ["Mine"]
    assert keep(bob, "Mine").status_code == 201


def test_no_preset_is_kept_for_a_visitor() -> None:
    assert keep(Client(), "Mine").status_code == 401
    assert Client().get("/api/presets").status_code == 401


def test_a_name_is_taken_once(alice: Client) -> None:
    made = keep(alice, "A").json()["id"]
    keep(alice, "B")
    for refused in (keep(alice, "B"), rename(alice, made, "B")):
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "exists")
    assert names(alice) == ["A", "B"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"params": {"temperature": 9}}, "params.temperature"),
        ({"params": {"nonsense": 1}}, "params.nonsense"),
        ({"n": 9}, "n"),
        ({"system_prompt": "\x00"}, "system_prompt"),
    ],
)
def test_what_no_answer_could_keep_to_is_refused(alice: Client, changes: dict[str, Any], field: str) -> None:
    refused = keep(alice, **({"name": "A"} | changes))
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, field)
    assert names(alice) == []


def test_there_is_an_end_to_how_many_are_kept(alice: Client, bob: Client) -> None:
    assert [keep(alice, str(n)).status_code for n in range(51)] == [201] * 50 + [409]
    assert keep(bob, "C").status_code == 201
