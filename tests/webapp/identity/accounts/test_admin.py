"""Accounts in the admin: no page deletes one, each leads to the erasure."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from inference.protocol.request import Usage
from webapp.models.billing.bill import post_bill
from webapp.models.billing.models import LedgerEntry

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("admin"))
    return client


@pytest.fixture
def alice() -> User:
    alice = User.objects.create_user("alice")
    post_bill("req_a", alice.pk, "smollm2-135m-instruct", Usage(output=1))
    return alice


def test_no_page_offers_a_deletion_that_would_fail(admin: Client, alice: User) -> None:
    page = reverse("admin:auth_user_delete", args=[alice.pk])
    for response in (admin.get(page), admin.post(page, {"post": "yes"})):
        assert (response.status_code, response["Location"]) == (302, f"/admin/users/{alice.pk}/")
    changelist = reverse("admin:auth_user_changelist")
    assert "delete_selected" not in admin.get(changelist).content.decode()
    admin.post(changelist, {"action": "delete_selected", "_selected_action": [alice.pk], "post": "yes"})
    assert LedgerEntry.objects.get().user == alice


def test_the_page_of_an_account_leads_to_its_erasure(admin: Client, alice: User) -> None:
    page = admin.get(reverse("admin:auth_user_change", args=[alice.pk])).content.decode()
    assert f'<a href="/admin/users/{alice.pk}/">Export or erase all data</a>' in page


def test_a_closed_account_is_signed_out(alice: User) -> None:
    client = Client()
    client.force_login(alice)
    assert client.get("/api/requests").status_code == 200
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert client.get("/api/requests").status_code == 401


def test_its_pages_ask_for_no_icon_that_there_is_not(admin: Client) -> None:
    assert '<link rel="icon" href="data:," />' in admin.get(reverse("admin:index")).content.decode()
