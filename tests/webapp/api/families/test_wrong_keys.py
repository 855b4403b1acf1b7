"""Keys that do not work, and hostile headers, at each main call: a 401 or 400 of the family that repeats no secret."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from tests.webapp.api.families.calls import BODIES, Answer, check_form, key_of
from webapp.identity.keys.keys import find, revoke
from webapp.identity.keys.models import ApiKey
from webapp.requests.models import Request

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_client")]


def revoked() -> str:
    secret = key_of()
    revoke(find(secret))
    return secret


def expired() -> str:
    secret = key_of()
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    return secret


def of_a_user_who_is_switched_off() -> str:
    secret = key_of()
    User.objects.update(is_active=False)
    return secret


def of_a_deleted_user() -> str:
    secret = key_of()
    User.objects.all().delete()
    return secret


def with_the_end_of_another() -> str:
    return key_of()[:20] + key_of("bob")[20:]


WRONG: dict[str, Callable[[], str]] = {
    "revoked": revoked,
    "expired": expired,
    "of a user who is switched off": of_a_user_who_is_switched_off,
    "of a deleted user": of_a_deleted_user,
    "with the end of another": with_the_end_of_another,
    "cut": lambda: key_of()[:-1],
    "its prefix": lambda: key_of()[:11],
    "too long": lambda: key_of() + "a",
    "in other case": lambda: key_of().swapcase(),
    "with a header in it": lambda: key_of() + "\r\nX-Evil: 1",
    "with a NUL": lambda: key_of() + "\x00",
    "of 100 kB": lambda: key_of() * 2000,
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_key_that_does_not_work_opens_no_call(kind: str) -> None:
    secret = WRONG[kind]()
    for path in BODIES:
        for headers in ({"x-api-key": secret}, {"authorization": f"Bearer {secret}"}):
            refused = post(path, headers)
            assert refused.status == 401
            told = json.dumps(refused.body) + str(refused.headers)
            assert secret[12:40] not in told or len(secret) <= 12
            assert "evil" not in told.lower()
    assert not Request.objects.exists()


def post(path: str, headers: dict[str, str]) -> Answer:
    """The least body of a call: a key that works would begin it."""
    client = Client(raise_request_exception=False, headers=headers)
    response = client.post(path, json.dumps(BODIES[path]), content_type="application/json")
    answer = Answer(response.status_code, response.json(), response.headers)
    check_form(path, answer)
    return answer


@pytest.mark.parametrize("name", ["idempotency-key", "anthropic-version", "anthropic-beta", "x-request-id", "host"])
@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "\x00", "\xff" * 9, "a" * 100_000, "%0d%0aX-Evil:1", ""])
def test_a_hostile_header_is_no_fault_and_adds_none(name: str, value: str) -> None:
    headers = {"x-api-key": key_of(), name: value}
    for path in BODIES:
        client = Client(raise_request_exception=False, headers=headers)
        answer = client.post(path, "{}", content_type="application/json")
        assert 400 <= answer.status_code < 500
        assert "x-evil" not in {header.lower() for header in answer.headers}
