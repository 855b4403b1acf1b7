"""A sign-in link: opening it changes nothing, its button signs in once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from webapp.identity.accounts import links
from webapp.identity.accounts.links import make_link
from webapp.identity.accounts.models import SignInLink

pytestmark = pytest.mark.django_db


@pytest.fixture
def carol() -> User:
    return User.objects.create_user("carol")


def signed_in_as(client: Client) -> Any:
    answer = client.get("/api/session")
    return answer.json()["user"]["name"] if answer.status_code == 200 else None


def test_the_page_names_the_account_and_the_button_signs_in(carol: User) -> None:
    client, path = Client(), make_link(carol)
    page = client.get(path)
    assert (page.status_code, signed_in_as(client)) == (200, None)
    assert "Start as carol" in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert client.post(path)["Location"] == "/"
    assert signed_in_as(client) == "carol"


@pytest.mark.parametrize("header", [{}, {"HTTP_SEC_PURPOSE": "prefetch"}, {"HTTP_PURPOSE": "preview"}])
def test_what_opens_the_link_before_the_person_does_not_use_it_up(carol: User, header: dict[str, str]) -> None:
    path = make_link(carol)
    for _ in range(3):
        assert Client(**header).head(path).status_code == 200  # type: ignore[arg-type]
        assert Client(**header).get(path).status_code == 200  # type: ignore[arg-type]
    person = Client()
    assert person.post(path).status_code == 302
    assert signed_in_as(person) == "carol"


def test_a_link_works_once(carol: User) -> None:
    path = make_link(carol)
    assert Client().post(path).status_code == 302
    late = Client()
    assert (late.get(path).status_code, late.post(path).status_code) == (410, 410)
    assert "manage.py signin_link" in late.get(path).content.decode()
    assert signed_in_as(late) is None


def test_a_page_of_another_site_cannot_press_the_button(carol: User) -> None:
    path, victim = make_link(carol), Client(enforce_csrf_checks=True)
    victim.get(path)
    assert victim.post(path).status_code == 403
    assert signed_in_as(victim) is None
    token = victim.cookies["csrftoken"].value
    assert victim.post(path, {"csrfmiddlewaretoken": token}).status_code == 302


def test_a_browser_without_cookies_is_told_so_and_the_link_still_works(carol: User) -> None:
    path, refusing = make_link(carol), Client(enforce_csrf_checks=True)
    page = refusing.get(path)
    refusing.cookies.clear()
    refused = refusing.post(path, {"csrfmiddlewaretoken": page.context["csrf_token"]})
    told = refused.content.decode()
    assert refused.status_code == 403
    assert "Sign-in needs cookies" in told and "Allow cookies" in told
    assert "signed in or out" not in told
    assert Client().post(path).status_code == 302


def test_a_used_link_promises_no_password(carol: User) -> None:
    told = Client().get("/signin/unknown").content.decode()
    assert "If your account has a password" in told


def test_a_user_of_another_account_is_asked_first(carol: User) -> None:
    path, bob = make_link(carol), Client()
    bob.force_login(User.objects.create_user("bob"))
    before = bob.session.session_key
    page = bob.get(path).content.decode()
    assert "You are signed in as <b>bob</b>" in page and "Change to carol" in page and "Stay bob" in page
    assert signed_in_as(bob) == "bob"
    bob.post(path)
    assert signed_in_as(bob) == "carol"
    assert bob.session.session_key != before


def test_the_owner_who_is_signed_in_already_keeps_the_link(carol: User) -> None:
    path, client = make_link(carol), Client()
    client.force_login(carol)
    assert client.get(path)["Location"] == "/"
    assert Client().get(path).status_code == 200


def test_a_link_lives_ten_minutes_at_most(carol: User) -> None:
    assert timedelta(0) < links.LIFETIME <= timedelta(minutes=10)
    path = make_link(carol)
    link = SignInLink.objects.get()
    link.expires_at -= links.LIFETIME + timedelta(seconds=1)
    link.save()
    assert (Client().get(path).status_code, Client().post(path).status_code) == (410, 410)


def test_a_closed_account_has_no_working_link(carol: User) -> None:
    path = make_link(carol)
    User.objects.update(is_active=False)
    assert (Client().get(path).status_code, Client().post(path).status_code) == (410, 410)
