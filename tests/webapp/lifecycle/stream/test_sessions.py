"""The users of many sessions are looked up together, and as Django looks up each."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from webapp.identity.accounts.models import Session
from webapp.lifecycle.stream.session import user_of, users_of

pytestmark = pytest.mark.django_db


def signed_in(user: User) -> str:
    """The key of a new session of the user."""
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


def test_the_sessions_of_all_streams_cost_two_queries() -> None:
    users = [User.objects.create(username=f"user {number}") for number in range(20)]
    keys = {signed_in(user): user for user in users for _ in range(2)}
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert users_of({*keys, "unknown"}) == keys
    assert len(queries) == 2


@pytest.mark.parametrize("end", ["closed", "expired", "deleted", "password", "no sign-in"])
def test_a_session_that_has_ended_has_no_user(end: str) -> None:
    alice, bob = User.objects.create(username="alice"), User.objects.create(username="bob")
    key, other = signed_in(alice), signed_in(bob)
    mine: Any = Session.objects.filter(pk=key)
    match end:
        case "closed":
            User.objects.filter(pk=alice.pk).update(is_active=False)
        case "expired":
            mine.update(expire_date=timezone.now())
        case "deleted":
            mine.delete()
        case "password":
            User.objects.filter(pk=alice.pk).update(password="another")
        case "no sign-in":
            mine.update(session_data=Session.get_session_store_class()().encode({}), user_id=None)
    assert users_of({key, other}) == {other: bob}
    assert user_of(key) is None
