"""The addresses of the operator's desk, of the admin's tables behind it, and of a user's own usage."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from webapp.api import site

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "built", lambda source: {"script": "main.js", "styles": []})


def signed_in(*permissions: str, **more: bool) -> Client:
    user = User.objects.create_user("alice", **more)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def test_an_operator_sees_the_desk() -> None:
    answer = signed_in("view_usagerecord", is_staff=True).get("/admin/")
    assert answer.status_code == 200
    assert b"main.js" in answer.content


def test_staff_without_the_permission_get_the_tables() -> None:
    assert signed_in(is_staff=True).get("/admin/").headers["Location"] == "/admin/tables/"


@pytest.mark.parametrize("path", ["/admin/", "/admin/tables/", "/admin/billing/price/"])
def test_other_users_are_asked_to_sign_in_as_staff(path: str) -> None:
    answer = signed_in("view_usagerecord").get(path)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/admin/login/?next={path}")


def test_the_tables_stand_below_the_desk() -> None:
    client = signed_in(is_staff=True, is_superuser=True)
    assert reverse("admin:index") == "/admin/tables/"
    index = client.get("/admin/tables/")
    assert b'href="/admin/billing/price/"' in index.content
    assert b'href="/admin/"' in index.content
    assert client.get("/admin/billing/price/").status_code == 200
    assert client.get("/admin/nothing/").status_code == 404


def test_the_earlier_address_leads_to_the_desk() -> None:
    assert Client().get("/admin/usage/?from=2026-01-01").headers["Location"] == "/admin/"


def test_each_user_sees_the_page_of_their_own_usage() -> None:
    assert signed_in().get("/usage?period=7").status_code == 200
    assert Client().get("/usage").status_code == 302
