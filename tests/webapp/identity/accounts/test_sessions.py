"""A sign-in ends after a time without use, and after a time in all. Its row names no more than it needs to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from webapp.identity.accounts.links import make_link
from webapp.identity.accounts.models import Session
from webapp.lifecycle.watchdog import keep_up

pytestmark = pytest.mark.django_db
IDLE = timedelta(minutes=settings.ENVIRONMENT.session_idle_minutes)
LONGEST = timedelta(minutes=settings.ENVIRONMENT.session_minutes)
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
PASSWORD = "a long and quiet evening"


@pytest.fixture
def carol() -> User:
    return User.objects.create_user("carol")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Passes time for the whole site."""
    began, passed = timezone.now(), timedelta()

    def go_on(by: timedelta) -> None:
        nonlocal passed
        passed += by

    monkeypatch.setattr(timezone, "now", lambda: began + passed)
    return go_on


def signed_in(user: User, **more: Any) -> Client:
    client = Client(**more)
    assert client.post(make_link(user)).status_code == 302
    return client


@contextmanager
def written() -> Iterator[list[str]]:
    """The statements that change the table of sign-ins."""
    found: list[str] = []
    with CaptureQueriesContext(connection) as queries:
        yield found
    found += [each["sql"] for each in queries if "accounts_session" in each["sql"] and each["sql"][:6] != "SELECT"]


def test_a_sign_in_that_is_not_used_ends(carol: User, clock: Any) -> None:
    client = signed_in(carol)
    clock(IDLE + timedelta(seconds=1))
    refused = client.get("/api/conversations")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "not_signed_in")
    page = client.get("/library", follow=True)
    assert page.redirect_chain == [("/accounts/login/?next=/library", 302)]
    assert "A sign-in ends after 3 days without use, and after 14 days in any case." in page.content.decode()


def test_use_moves_the_idle_limit_up_to_the_longest_time(carol: User, clock: Any) -> None:
    client, passed = signed_in(carol), timedelta()
    while passed + IDLE / 2 < LONGEST:
        clock(IDLE / 2)
        passed += IDLE / 2
        assert client.get("/api/conversations").status_code == 200
    clock(LONGEST - passed + timedelta(seconds=1))
    assert client.get("/api/conversations").status_code == 401


def test_what_an_open_page_asks_by_itself_is_no_use(carol: User, clock: Any) -> None:
    client = signed_in(carol)
    for _ in range(2):
        clock(IDLE / 3)
        assert client.get("/api/notices").status_code == 200
        assert client.get("/api/session").status_code == 200
    clock(IDLE / 3 + timedelta(seconds=1))
    assert client.get("/api/notices").status_code == 401


def test_use_is_written_once_a_minute_at_most(carol: User, clock: Any) -> None:
    client = signed_in(carol)
    clock(timedelta(seconds=59))
    with written() as statements:
        for _ in range(3):
            client.get("/api/conversations")
    assert statements == []
    clock(timedelta(seconds=2))
    with written() as statements:
        for _ in range(3):
            client.get("/api/conversations")
    assert len(statements) == 1


def test_a_save_of_the_session_keeps_both_limits(carol: User, clock: Any) -> None:
    client = signed_in(carol)
    began = Session.objects.get().began_at
    clock(LONGEST - IDLE / 2)
    Session.objects.update(expire_date=timezone.now() + IDLE)
    session = client.session
    session["more"] = 1
    session.save()
    row = Session.objects.get()
    assert (row.began_at, row.expire_date) == (began, began + LONGEST)


def test_each_sign_in_has_a_new_id(carol: User) -> None:
    client = Client()
    keys = set()
    for _ in range(3):
        client.session.save()
        client.post(make_link(carol))
        keys.add(client.session.session_key)
    assert len(keys) == 3
    assert Session.objects.filter(user=carol).count() == 1


def test_the_row_has_the_browser_in_words_and_the_network_alone(carol: User) -> None:
    signed_in(carol, REMOTE_ADDR="203.0.113.5", HTTP_USER_AGENT=FIREFOX)
    row = Session.objects.get()
    assert (row.user, row.browser, row.system, row.network) == (carol, "Firefox", "Linux", "203.0.113.0/24")
    kept = str(row.__dict__) + str(row.get_decoded())
    assert "203.0.113.5" not in kept and "Gecko" not in kept


@pytest.mark.parametrize("agent", ["", "x" * 10_000, "Mozilla/5.0 (", "\ud83d\ude00 browser/1"])
def test_a_client_that_does_not_tell_its_browser_signs_in_too(carol: User, agent: str) -> None:
    signed_in(carol, HTTP_USER_AGENT=agent, REMOTE_ADDR="")
    row = Session.objects.get()
    assert (row.browser, row.system, row.network) == ("", "", "")


def test_upkeep_removes_what_has_ended_and_nothing_else(carol: User, clock: Any) -> None:
    signed_in(carol)
    clock(IDLE - timedelta(seconds=1))
    late = signed_in(carol)
    keep_up()
    assert Session.objects.count() == 2
    clock(timedelta(seconds=2))
    keep_up()
    assert [row.pk for row in Session.objects.all()] == [late.session.session_key]


def test_a_new_password_ends_all_other_sign_ins(carol: User) -> None:
    carol.set_password("an older evening")
    carol.save()
    here, elsewhere = signed_in(carol), signed_in(carol)
    form = {"old_password": "an older evening", "new_password1": PASSWORD, "new_password2": PASSWORD}
    before = here.session.session_key
    assert here.post("/accounts/password/", form)["Location"] == "/account"
    assert here.get("/api/conversations").status_code == 200
    assert here.session.session_key != before
    assert elsewhere.get("/api/conversations").status_code == 401
    assert [row.pk for row in Session.objects.all()] == [here.session.session_key]


def test_a_password_that_is_set_by_another_ends_every_sign_in(carol: User) -> None:
    signed_in(carol)
    carol.set_password(PASSWORD)
    carol.save()
    assert not Session.objects.exists()


def test_the_sign_in_with_a_password_ends_no_other(carol: User, settings: Any) -> None:
    """Its hash may be renewed, which is no new password."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS[:1]]
    carol.set_password(PASSWORD)
    carol.save()
    other = signed_in(carol)
    settings.PASSWORD_HASHERS = settings.PASSWORD_HASHERS[1:]
    Client().post("/accounts/login/", {"username": "carol", "password": PASSWORD})
    assert Session.objects.filter(pk=other.session.session_key).exists()
