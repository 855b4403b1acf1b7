"""Sign-ins: a user lists and ends the own ones, an operator ends all of one user."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.api.identity.test_people import client_of, send
from webapp.identity.accounts.links import make_link
from webapp.identity.accounts.models import Session

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
OWN = "/api/account/sign-ins"


@pytest.fixture
def carol() -> User:
    return User.objects.create_user("carol")


@pytest.fixture
def operator() -> Client:
    return client_of("olive", "view_usagerecord", "end_sign_ins")


def signed_in(user: User, **more: Any) -> Client:
    client = Client(**more)
    assert client.post(make_link(user)).status_code == 302
    return client


def is_signed_in(client: Client) -> bool:
    return client.get("/api/conversations").status_code == 200


def listed(client: Client) -> list[dict[str, Any]]:
    answer = client.get(OWN)
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["sign_ins"]
    return found


def test_the_list_tells_browser_network_and_times_and_this_one_first(carol: User) -> None:
    here = signed_in(carol, HTTP_USER_AGENT=FIREFOX, REMOTE_ADDR="203.0.113.5")
    there = signed_in(carol, REMOTE_ADDR="2001:db8::1")
    signed_in(User.objects.create_user("bob"))
    first, second = listed(here)
    assert (first["browser"], first["system"], first["network"]) == ("Firefox", "Linux", "203.0.113.0/24")
    assert (second["browser"], second["system"], second["network"]) == ("", "", "2001:db8::/48")
    assert (first["is_this"], second["is_this"]) == (True, False)
    assert [each["is_this"] for each in listed(there)] == [True, False]
    assert first["began_at"] <= first["seen_at"]


def test_no_key_of_a_session_goes_out(carol: User) -> None:
    here, there = signed_in(carol), signed_in(carol)
    told = here.get(OWN).content.decode()
    assert here.session.session_key not in told and there.session.session_key not in told


def test_a_user_ends_one_sign_in(carol: User) -> None:
    here, there, third = (signed_in(carol) for _ in range(3))
    target = next(each["id"] for each in listed(there) if each["is_this"])
    assert here.delete(f"{OWN}/{target}").status_code == 204
    assert [is_signed_in(each) for each in (here, there, third)] == [True, False, True]
    assert here.delete(f"{OWN}/{target}").status_code == 404


def test_a_user_ends_this_one_too(carol: User) -> None:
    here = signed_in(carol)
    assert here.delete(f"{OWN}/{listed(here)[0]['id']}").status_code == 204
    assert not is_signed_in(here)


def test_a_user_ends_all_others_at_once(carol: User) -> None:
    here, there, third = (signed_in(carol) for _ in range(3))
    bob = signed_in(User.objects.create_user("bob"))
    assert here.delete(OWN).json() == {"num": 2}
    assert [is_signed_in(each) for each in (here, there, third, bob)] == [True, False, False, True]
    assert here.delete(OWN).json() == {"num": 0}


def test_another_users_sign_in_is_not_found(carol: User) -> None:
    here, bob = signed_in(carol), signed_in(User.objects.create_user("bob"))
    refused = here.delete(f"{OWN}/{listed(bob)[0]['id']}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")
    assert is_signed_in(bob)


def test_what_has_ended_is_not_listed_and_does_not_count(carol: User, operator: Client) -> None:
    here, there = signed_in(carol), signed_in(carol)
    row = Session.objects.get(pk=there.session.session_key)
    row.expire_date -= timedelta(days=60)
    row.save()
    assert len(listed(here)) == 1
    assert operator.get(f"/api/users/{carol.pk}/sign-ins").json()["num"] == 1
    assert here.delete(OWN).json() == {"num": 0}


def test_the_list_tells_the_limits_and_whether_there_is_a_password(carol: User, settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    found = signed_in(carol).get(OWN).json()
    limits = settings.ENVIRONMENT
    assert (found["idle_minutes"], found["longest_minutes"]) == (limits.session_idle_minutes, limits.session_minutes)
    assert found["has_password"] is False
    carol.set_password("a long and quiet evening")
    carol.save()
    assert signed_in(carol).get(OWN).json()["has_password"] is True


def test_an_operator_looks_first_then_ends_all_of_a_user(carol: User, operator: Client) -> None:
    clients = [signed_in(carol) for _ in range(2)]
    preview = operator.get(f"/api/users/{carol.pk}/sign-ins").json()
    assert preview["num"] == 2 and preview["last_seen"] is not None
    assert all(is_signed_in(each) for each in clients)
    path = f"/api/users/{carol.pk}/sign-ins/end"
    assert send(operator, "POST", path, {"reason": "A  lost laptop"}) == {"num": 2}
    assert not any(is_signed_in(each) for each in clients)
    assert operator.get(f"/api/users/{carol.pk}/sign-ins").json() == {"num": 0, "last_seen": None}


def test_the_audit_log_has_the_end_with_its_reason(carol: User, operator: Client) -> None:
    signed_in(carol)
    send(operator, "POST", f"/api/users/{carol.pk}/sign-ins/end", {"reason": "A lost laptop"})
    entry = LogEntry.objects.latest("pk")
    assert entry.actor is not None
    assert (entry.actor.get_username(), entry.object_repr) == ("olive", "carol")
    assert entry.additional_data == {"action": "ended all sign-ins of", "note": "A lost laptop"}
    assert entry.changes == {"sign-ins": [1, 0]}


@pytest.mark.parametrize(("method", "path"), [("GET", "sign-ins"), ("POST", "sign-ins/end")])
def test_only_an_operator_with_the_permission_may(carol: User, method: str, path: str) -> None:
    here, other = signed_in(carol), client_of("otto", "view_usagerecord", "stop_user")
    for client in (here, other):
        assert send(client, method, f"/api/users/{carol.pk}/{path}", {}, 403)["code"] == "forbidden"
    assert is_signed_in(here)


def test_only_a_superuser_ends_those_of_a_superuser(operator: Client) -> None:
    root = signed_in(User.objects.create_superuser("root"))
    target = User.objects.get(username="root").pk
    assert send(operator, "POST", f"/api/users/{target}/sign-ins/end", {}, 403)["code"] == "forbidden"
    assert is_signed_in(root)


def test_operators_end_their_own_on_their_own_page(operator: Client) -> None:
    target = User.objects.get(username="olive").pk
    refused = send(operator, "POST", f"/api/users/{target}/sign-ins/end", {}, 403)
    assert "Your account" in refused["message"]
    assert is_signed_in(operator)


def test_a_user_who_does_not_exist_is_not_found(operator: Client) -> None:
    assert send(operator, "GET", "/api/users/999999/sign-ins", {}, 404)["code"] == "not_found"
