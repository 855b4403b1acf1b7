"""Guesses of a password are few per account and address, and never keep the owner out from elsewhere."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.test import Client

from webapp.identity.accounts.models import FailedSignIn
from webapp.identity.accounts.throttle import (
    MAX_AT_ONCE,
    MAX_FAILURES,
    MAX_FAILURES_OF_ADDRESS,
    WINDOW,
    SignInThrottle,
    TooMany,
)

pytestmark = pytest.mark.django_db
PASSWORD = "a long and quiet evening"
OWN, OTHER = "203.0.113.5", "198.51.100.7"


@pytest.fixture
def alice(settings: Any) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return User.objects.create_user("alice", password=PASSWORD)


def try_password(password: str, name: str = "alice", address: str = OWN, path: str = "/accounts/login/") -> Any:
    form = {"username": name, "password": password, "next": "/library"}
    return Client().post(path, form, REMOTE_ADDR=address)


def fail(num: int = MAX_FAILURES, **more: str) -> None:
    for _ in range(num):
        assert try_password("wrong", **more).status_code == 200


def make_older(by: timedelta) -> None:
    for row in FailedSignIn.objects.all():
        row.at -= by
        row.save()


def test_after_ten_failures_the_right_password_waits_too(alice: User) -> None:
    fail()
    refused = try_password(PASSWORD)
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= WINDOW.total_seconds()
    assert "Try again in 10 minutes" in refused.content.decode()
    assert "no-store" in refused["Cache-Control"]


def test_the_owner_signs_in_from_elsewhere_meanwhile(alice: User) -> None:
    fail()
    assert try_password(PASSWORD, address=OTHER)["Location"] == "/library"
    assert try_password(PASSWORD).status_code == 429


def test_a_name_without_an_account_waits_as_long(alice: User) -> None:
    fail(name="nobody")
    assert try_password("wrong", name="nobody").status_code == 429
    assert try_password(PASSWORD).status_code == 302


@pytest.mark.parametrize("name", ["ALICE", " alice", "alice "])
def test_another_spelling_of_the_name_is_the_same_name(alice: User, name: str) -> None:
    fail()
    assert try_password(PASSWORD, name=name).status_code == 429


def test_only_failures_count_and_a_sign_in_forgives_those_before(alice: User) -> None:
    for _ in range(3):
        fail(MAX_FAILURES - 1)
        assert try_password(PASSWORD).status_code == 302
    for _ in range(MAX_FAILURES + 1):
        assert try_password(PASSWORD).status_code == 302


def test_a_refusal_does_not_begin_the_wait_anew(alice: User) -> None:
    fail()
    make_older(WINDOW - timedelta(seconds=30))
    refused = try_password("wrong")
    assert 0 < int(refused["Retry-After"]) <= 30
    assert "Try again in 1 minute." in refused.content.decode()
    make_older(timedelta(seconds=31))
    assert try_password(PASSWORD).status_code == 302


def test_an_address_that_tries_many_names_waits(alice: User) -> None:
    for number in range(MAX_FAILURES_OF_ADDRESS):
        fail(1, name=f"name-{number}")
    assert try_password(PASSWORD).status_code == 429
    assert try_password(PASSWORD, address=OTHER).status_code == 302


def test_addresses_of_one_ipv6_network_count_as_one(alice: User) -> None:
    for number in range(MAX_FAILURES):
        fail(1, address=f"2001:db8:0:1::{number:x}")
    assert try_password(PASSWORD, address="2001:db8:0:1:ffff::1").status_code == 429
    assert try_password(PASSWORD, address="2001:db8:0:2::1").status_code == 302


def test_the_admins_door_is_the_same_door(alice: User) -> None:
    answer = Client().get("/admin/login/", {"next": "/admin/tables/"})
    assert answer["Location"] == "/accounts/login/?next=/admin/tables/"
    fail()
    assert Client().post("/admin/login/", {"username": "alice", "password": PASSWORD}).status_code == 302
    assert "_auth_user_id" not in Client().session


def test_no_name_and_no_address_is_kept(alice: User) -> None:
    fail(1)
    columns = {field.name for field in FailedSignIn._meta.get_fields()}
    assert columns == {"id", "account_and_address", "address", "at"}
    assert re.fullmatch("[0-9a-f]{64}", FailedSignIn.objects.get().address)


def test_old_failures_are_forgotten(alice: User) -> None:
    fail(3)
    make_older(WINDOW + timedelta(seconds=1))
    fail(1, address=OTHER)
    assert FailedSignIn.objects.count() == 1


def test_a_proxys_clients_have_their_own_addresses(alice: User, settings: Any) -> None:
    from dataclasses import replace

    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, public_url="https://chat.example.org")

    def through_proxy(password: str, forwarded: str) -> Any:
        form = {"username": "alice", "password": password}
        return Client().post("/accounts/login/", form, HTTP_X_FORWARDED_FOR=forwarded)

    for number in range(MAX_FAILURES):
        through_proxy("wrong", f"192.0.2.{number}, {OWN}")  # a client writes what it likes before the proxy's own entry
    assert through_proxy(PASSWORD, OWN).status_code == 429
    assert through_proxy(PASSWORD, OTHER).status_code == 302


@pytest.mark.parametrize("form", ["{}:{}", " {}:{} "])
def test_a_proxy_that_names_the_port_too_names_one_client(alice: User, settings: Any, form: str) -> None:
    from dataclasses import replace

    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, public_url="https://chat.example.org")

    def from_port(password: str, address: str, port: int) -> Any:
        fields = {"username": "alice", "password": password}
        forwarded = form.format(address, port)
        return Client().post("/accounts/login/", fields, HTTP_X_FORWARDED_FOR=forwarded)

    for number in range(MAX_FAILURES):
        from_port("wrong", OWN, 50_000 + number)
    assert from_port(PASSWORD, OWN, 60_000).status_code == 429
    assert from_port(PASSWORD, OTHER, 60_000).status_code == 302


def test_without_a_proxy_no_header_names_an_address(alice: User) -> None:
    for number in range(MAX_FAILURES):
        form = {"username": "alice", "password": "wrong"}
        Client().post("/accounts/login/", form, HTTP_X_FORWARDED_FOR=f"192.0.2.{number}", REMOTE_ADDR=OWN)
    assert try_password(PASSWORD).status_code == 429


def test_only_a_few_passwords_are_checked_at_once(alice: User) -> None:
    throttle = SignInThrottle()
    held = [throttle.place(f"192.0.2.{number}") for number in range(MAX_AT_ONCE)]
    for place in held:
        place.__enter__()
    with pytest.raises(TooMany) as refused, throttle.place(OWN):
        pass
    assert refused.value.retry_after_s == 1
    held[0].__exit__(None, None, None)
    with throttle.place(OWN):
        pass


def test_one_address_does_not_take_every_place() -> None:
    throttle = SignInThrottle()
    with throttle.place(OWN), throttle.place(OWN):
        with pytest.raises(TooMany), throttle.place(OWN):
            pass
        with throttle.place(OTHER):
            pass


def test_an_unknown_name_costs_a_hash_as_well(alice: User, settings: Any) -> None:
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    alice.set_password(PASSWORD)
    alice.save()
    costs = []
    for name in ("alice", "nobody"):
        CountingHasher.num_hashes = 0
        try_password("wrong", name=name)
        costs.append(CountingHasher.num_hashes)
    assert costs == [1, 1]


class CountingHasher(PBKDF2PasswordHasher):
    iterations = 1
    num_hashes = 0

    def encode(self, *arguments: Any) -> str:
        CountingHasher.num_hashes += 1
        return super().encode(*arguments)
