"""The admin's table of keys: an operator reads and revokes, and finds no digest."""

from __future__ import annotations

from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.api.identity.test_people import client_of
from tests.webapp.identity.keys.programs import new_key
from webapp.identity.keys.models import ApiKey

pytestmark = pytest.mark.django_db
TABLE = "/admin/keys/apikey/"


@pytest.fixture
def operator() -> Client:
    return client_of("olive", "revoke_keys", is_staff=True)


def revoke(client: Client, *keys: ApiKey) -> Any:
    return client.post(TABLE, {"action": "revoke_selected", "_selected_action": [key.pk for key in keys]})


def test_the_pages_show_no_digest_and_change_nothing(operator: Client) -> None:
    key = new_key().key
    base = TABLE
    for path in (base, f"{base}{key.pk}/change/"):
        page = operator.get(path)
        assert page.status_code == 200
        assert key.prefix in page.content.decode() and key.digest not in page.content.decode()
    assert operator.get(f"{base}add/").status_code == 403
    assert operator.post(f"{base}{key.pk}/change/", {"name": "x"}).status_code == 403
    assert operator.post(f"{base}{key.pk}/delete/", {"post": "yes"}).status_code == 403


def test_selected_keys_are_revoked_but_those_of_a_superuser(operator: Client) -> None:
    carols, roots = new_key().key, new_key(User.objects.create_superuser("root")).key
    revoke(operator, carols, roots)
    assert [key.pk for key in ApiKey.objects.exclude(revoked_at=None)] == [carols.pk]
    entry = LogEntry.objects.latest("pk")
    assert (entry.actor.username, entry.object_repr) == ("olive", "carol")
    root = Client()
    root.force_login(roots.user)
    revoke(root, roots)
    assert ApiKey.objects.get(pk=roots.pk).revoked_at is not None


def test_an_operator_without_the_permission_sees_no_table() -> None:
    other = client_of("oscar", "view_usagerecord", is_staff=True)
    assert other.get(TABLE).status_code == 403
