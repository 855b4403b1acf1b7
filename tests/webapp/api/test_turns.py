"""Imports and exports take turns: the refusal of one more has the time after which to come again."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
import redis
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.webapp.api.test_api import sign_in
from webapp.api.turns import MAX_AT_ONCE, exports, imports

pytestmark = pytest.mark.django_db(transaction=True)
PATHS = ["/api/requests/import", "/api/conversations/import"]


def status(client: Client, path: str) -> tuple[int, str | None]:
    answer = client.post(path, {"file": SimpleUploadedFile("a.json", b"no file of ours")})
    return answer.status_code, answer.headers.get("Retry-After")


@pytest.mark.parametrize("path", PATHS)
def test_a_user_has_one_import_at_a_time(path: str) -> None:
    alice, bob = sign_in("alice"), sign_in("bob")
    with imports().turn(User.objects.get(username="alice").pk):
        assert status(alice, path) == (429, "5")
        assert status(bob, path) == (400, None)
    assert status(alice, path) == (400, None)


@pytest.mark.parametrize("path", PATHS)
def test_few_users_import_at_once(path: str) -> None:
    alice = sign_in("alice")
    with ExitStack() as others:
        for user_id in range(-MAX_AT_ONCE, 0):
            others.enter_context(imports().turn(user_id))
        assert status(alice, path) == (429, "5")
    assert status(alice, path) == (400, None)


def test_few_users_export_their_accounts_at_once(redis_client: redis.Redis) -> None:
    alice = sign_in("alice")
    with ExitStack() as others:
        for user_id in range(-MAX_AT_ONCE, 0):
            others.enter_context(exports().turn(user_id))
        refused = alice.get("/api/account/export")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
    assert refused.json()["error"]["code"] == "export_busy"
    assert alice.get("/api/account/export").status_code == 200
