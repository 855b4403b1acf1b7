"""Deletion of accounts in the admin: an account with ledger entries stays, with advice on what to do instead."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from inference.protocol.request import Usage
from webapp.billing.bill import post_bill
from webapp.billing.models import LedgerEntry
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("admin"))
    return client


def test_an_account_with_a_bill_is_not_deleted_and_can_be_closed(admin: Client) -> None:
    alice = User.objects.create_user("alice")
    post_bill("req_a", alice.pk, "smollm2-135m-instruct", Usage(output=1))
    page = reverse("admin:auth_user_delete", args=[alice.pk])
    selected = {"action": "delete_selected", "_selected_action": [alice.pk]}
    for response in (admin.get(page), admin.post(reverse("admin:auth_user_changelist"), selected)):
        assert response.status_code == 200
        text = response.content.decode()
        assert "Entries of alice (1) in the ledger, which stay for good." in text
        assert "untick “Active”" in text
        assert reverse("admin:auth_user_change", args=[alice.pk]) in text
    admin.post(page, {"post": "yes"})
    admin.post(reverse("admin:auth_user_changelist"), selected | {"post": "yes"})
    assert LedgerEntry.objects.get().user == alice

    client = Client()
    client.force_login(alice)
    assert client.get("/api/requests").status_code == 200
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert client.get("/api/requests").status_code == 401


def test_an_account_without_one_goes_with_all_that_is_its(admin: Client) -> None:
    bob = User.objects.create_user("bob")
    Request.objects.create(user=bob, surface="chat", model="m", title="T")
    page = reverse("admin:auth_user_delete", args=[bob.pk])
    assert "in the ledger" not in admin.get(page).content.decode()
    assert admin.post(page, {"post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=bob.pk).exists()
    assert not Request.objects.exists()


def test_its_pages_ask_for_no_icon_that_there_is_not(admin: Client) -> None:
    assert '<link rel="icon" href="data:," />' in admin.get(reverse("admin:index")).content.decode()
