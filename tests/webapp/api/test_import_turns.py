"""Imports take turns: another import under way is told of with the time after which to come again."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.webapp.api.test_api import sign_in
from webapp.api.import_turns import MAX_IMPORTS, import_turn

pytestmark = pytest.mark.django_db(transaction=True)
PATHS = ["/api/requests/import", "/api/conversations/import"]


def status(client: Client, path: str) -> tuple[int, str | None]:
    answer = client.post(path, {"file": SimpleUploadedFile("a.json", b"no file of ours")})
    return answer.status_code, answer.headers.get("Retry-After")


@pytest.mark.parametrize("path", PATHS)
def test_a_user_has_one_import_at_a_time(path: str) -> None:
    alice, bob = sign_in("alice"), sign_in("bob")
    with import_turn(User.objects.get(username="alice").pk):
        assert status(alice, path) == (429, "5")
        assert status(bob, path) == (400, None)
    assert status(alice, path) == (400, None)


@pytest.mark.parametrize("path", PATHS)
def test_few_users_import_at_once(path: str) -> None:
    alice = sign_in("alice")
    with ExitStack() as others:
        for user_id in range(-MAX_IMPORTS, 0):
            others.enter_context(import_turn(user_id))
        assert status(alice, path) == (429, "5")
    assert status(alice, path) == (400, None)
