"""Keys over HTTP: shown once, own ones alone, revoked by their user or by an operator with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from tests.webapp.api.identity.test_people import client_of
from tests.webapp.identity.keys.programs import expire, new_key, program
from tests.webapp.registered import CONFIGURED
from webapp.identity.keys.keys import MAX_LIVE, find
from webapp.identity.keys.models import ApiKey

pytestmark = pytest.mark.django_db
JSON = "application/json"
OWN = "/api/keys"


@pytest.fixture
def carol() -> Client:
    return client_of("carol")


@pytest.fixture
def operator() -> Client:
    return client_of("olive", "revoke_keys")


def make(client: Client, **body: Any) -> Any:
    return client.post(OWN, {"name": "notebook"} | body, content_type=JSON)


def send(method: Callable[..., Any], path: str, **body: Any) -> Any:
    return method(path, body, content_type=JSON)


def listed(client: Client, path: str = OWN) -> list[dict[str, Any]]:
    answer = client.get(path)
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["keys"]
    return found


def refused(answer: Any) -> tuple[int, str, str | None]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error.get("field")


def test_a_keys_secret_is_in_the_first_answer_alone(carol: Client) -> None:
    answer = make(carol, name="  my\tnotebook ", models=[CONFIGURED], features=["chat"])
    assert answer.status_code == 201 and answer["Cache-Control"] == "no-store"
    made = answer.json()
    assert made["key"]["name"] == "my notebook" and made["key"]["state"] == "live"
    assert (made["key"]["models"], made["key"]["features"]) == ([CONFIGURED], ["chat"])
    assert find(made["secret"]).pk == made["key"]["id"] and made["secret"].startswith(made["key"]["prefix"])
    assert listed(carol) == [made["key"]]
    assert made["secret"] not in carol.get(OWN).content.decode()


def test_a_key_works_until_its_user_revokes_it(carol: Client) -> None:
    made = make(carol).json()
    client = program(made["secret"])
    assert client.get("/api/conversations").status_code == 200
    assert carol.delete(f"{OWN}/{made['key']['id']}").status_code == 204
    assert refused(client.get("/api/conversations"))[:2] == (401, "revoked_key")
    assert carol.delete(f"{OWN}/{made['key']['id']}").status_code == 204
    assert [each["state"] for each in listed(carol)] == ["revoked"]


def test_the_list_begins_with_what_works_and_the_newest(carol: Client) -> None:
    first, second, third, fourth = (make(carol, name=name).json()["key"]["id"] for name in "abcd")
    carol.delete(f"{OWN}/{fourth}")
    expire(ApiKey.objects.get(pk=second))
    found = [(each["id"], each["state"]) for each in listed(carol)]
    assert found == [(third, "live"), (second, "expired"), (first, "live"), (fourth, "revoked")]


def test_a_key_is_renamed(carol: Client) -> None:
    made = make(carol).json()["key"]["id"]
    assert send(carol.patch, f"{OWN}/{made}", name=" laptop ").json()["name"] == "laptop"
    assert refused(send(carol.patch, f"{OWN}/{made}", name=""))[2] == "name"


def test_another_users_key_is_not_there(carol: Client) -> None:
    other = new_key("bob").key
    assert listed(carol) == []
    assert carol.delete(f"{OWN}/{other.pk}").status_code == 404
    assert send(carol.patch, f"{OWN}/{other.pk}", name="mine").status_code == 404
    assert ApiKey.objects.get().revoked_at is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x" * 61}, "name"),
        ({"name": 5}, "name"),
        ({"features": ["desk"]}, "features[0]"),
        ({"models": ["no-such-model"]}, "models"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2099-01-01T00:00:00"}, "expires_at"),
        ({"is_admin": True}, "is_admin"),
    ],
)
def test_a_wrong_field_is_named(carol: Client, body: dict[str, Any], field: str) -> None:
    assert refused(make(carol, **body)) == (400, "invalid", field)
    assert not ApiKey.objects.exists()


def test_an_expiry_is_kept(carol: Client) -> None:
    at = (timezone.now() + timedelta(days=30)).replace(microsecond=0)
    assert make(carol, expires_at=at.isoformat()).json()["key"]["expires_at"] == at.isoformat().replace("+00:00", "Z")


def test_there_are_at_most_a_hundred(carol: Client) -> None:
    user = User.objects.get(username="carol")
    ApiKey.objects.bulk_create(ApiKey(user=user, name="k", prefix=f"sg-{n:08}", digest="") for n in range(MAX_LIVE))
    assert refused(make(carol))[:2] == (409, "too_many")


def test_a_page_elsewhere_makes_no_key(carol: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="carol"))
    assert refused(make(strict))[:2] == (403, "csrf")
    assert Client().get(OWN).status_code == 401


def test_an_operator_lists_and_revokes_a_users_key_with_a_reason(operator: Client) -> None:
    new = new_key("carol")
    path = f"/api/users/{new.key.user_id}/keys"
    assert [each["prefix"] for each in listed(operator, path)] == [new.key.prefix]
    answer = send(operator.post, f"{path}/{new.key.pk}/revoke", reason="found in a repository")
    assert answer.status_code == 200 and answer.json()["state"] == "revoked"
    entry = LogEntry.objects.latest("pk")
    assert entry.actor.username == "olive" and entry.object_repr == "carol"
    assert entry.changes == {"key": [new.key.prefix, None]}
    assert entry.additional_data == {"action": "revoked a key of", "note": "found in a repository"}
    assert refused(program(new.secret).get("/api/conversations"))[:2] == (401, "revoked_key")


def test_a_key_is_revoked_only_through_its_own_user(operator: Client) -> None:
    key, other = new_key("carol").key, User.objects.create_user("bob")
    assert send(operator.post, f"/api/users/{other.pk}/keys/{key.pk}/revoke", reason="").status_code == 404


def test_only_operators_with_the_permission_see_others_keys(carol: Client, operator: Client) -> None:
    key = new_key("bob").key
    path = f"/api/users/{key.user_id}/keys"
    for client in (carol, client_of("oscar", "view_usagerecord", "stop_user")):
        assert refused(client.get(path))[:2] == (403, "forbidden")
        assert refused(send(client.post, f"{path}/{key.pk}/revoke", reason=""))[:2] == (403, "forbidden")
    root = new_key(User.objects.create_superuser("root")).key
    assert refused(operator.get(f"/api/users/{root.user_id}/keys"))[:2] == (403, "forbidden")
    assert ApiKey.objects.filter(revoked_at=None).count() == 2


def test_no_audit_entry_holds_a_secret_or_a_digest(carol: Client, operator: Client) -> None:
    made = make(carol).json()
    user = User.objects.get(username="carol")
    send(operator.post, f"/api/users/{user.pk}/keys/{made['key']['id']}/revoke", reason="")
    told = json.dumps(list(LogEntry.objects.values("changes", "additional_data", "object_repr")))
    assert made["key"]["prefix"] in told
    assert made["secret"][11:] not in told and ApiKey.objects.get().digest not in told


def test_the_command_prints_the_key_as_its_last_word() -> None:
    User.objects.create_user("carol")
    out = StringIO()
    options = {"model": [CONFIGURED], "feature": ["chat", "read"], "expires_days": 7}
    call_command("create_key", "carol", name="script", stdout=out, stderr=StringIO(), **options)
    key = find(out.getvalue().split()[-1])
    assert (key.name, key.user.username, key.models, key.features) == (
        "script",
        "carol",
        [CONFIGURED],
        ["chat", "read"],
    )
    assert key.expires_at is not None and timedelta(6) < key.expires_at - timezone.now() < timedelta(8)


@pytest.mark.parametrize(
    ("user", "options"),
    [
        ("bob", {}),
        ("carol", {"name": ""}),
        ("carol", {"model": ["no-such-model"]}),
        ("carol", {"expires_days": 0}),
        ("carol", {"expires_days": 10**9}),
    ],
)
def test_the_command_refuses_in_words(user: str, options: dict[str, Any]) -> None:
    User.objects.create_user("carol")
    with pytest.raises(CommandError):
        call_command("create_key", user, **{"name": "script"} | options)
    assert not ApiKey.objects.exists()
